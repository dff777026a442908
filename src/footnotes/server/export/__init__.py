"""Exports of conversations with their footnotes: Markdown and Word."""
