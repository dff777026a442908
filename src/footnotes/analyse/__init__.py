"""Finds what source code defines, imports and exposes: pure functions from a text to names and offsets."""
