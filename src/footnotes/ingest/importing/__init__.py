"""Imports a collection of another tool: texts, metadata, and vectors where they fit.

    reader ─▶ record ─▶ spool ─▶ documents ─▶ store

`records` is the common record, `texts` finds the text of a record, `fields` its document, place and headings, `spool`
keeps records on disk until all are read, `grouping` joins records to documents, `vectors` checks that given vectors are
those of the library's embedder, `importer` does the import.
"""
