"""Answers questions from tables: by a cell, a row, or a result computed from cells, each with its footnote."""
