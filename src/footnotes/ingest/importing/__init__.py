"""Takes over a collection of another tool: its texts, what is said of them, and their vectors where they fit.

    reader ─▶ found ─▶ record ─▶ spool ─▶ documents ─▶ store

`records` is the common record, `texts` finds the text in what tools write, `places` what a record says of where it
comes from, `spool` keeps everything on disk until all of it has been read, `grouping` joins records to documents,
`vectors` decides whether given vectors are those of the library's embedder, `take_over` puts it together.
"""
