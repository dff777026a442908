"""Imports a collection of another tool: texts, metadata, and vectors if they fit.

    reader ─▶ record ─▶ spool ─▶ documents ─▶ store

`records` is the common record, `texts` finds the text of a record, `fields` its document, position and headings,
`spool` stores records on disk until all are read, `grouping` joins records to documents, `vectors` checks that the
library's embedder made the given vectors, `importer` does the import.
"""
