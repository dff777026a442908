"""Commands that are more than a few lines each, for the command line to mount."""
