"""What every store must hold, in parts. `footnotes.testing.store_suite` puts them together."""
