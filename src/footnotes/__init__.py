"""Footnotes answers questions from your own documents, with a footnote for every sentence."""
