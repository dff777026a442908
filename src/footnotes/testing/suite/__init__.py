"""The guarantees of every store, in parts. `footnotes.testing.store_suite` combines them."""
