"""Questions that a table answers: by a cell, a row, or something computed from cells, each with its footnote."""
