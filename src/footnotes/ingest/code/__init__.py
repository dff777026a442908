"""Repositories of source code: what is in them, what is left out, and how a library follows them."""
