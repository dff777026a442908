"""The routes, one file per subject."""
