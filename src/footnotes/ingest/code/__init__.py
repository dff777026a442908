"""Repositories of source code: list their files, skip others, and follow their commits."""
