"""Settings of all tests. A busy machine must not fail a test: no deadlines."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("footnotes", deadline=None, max_examples=60, print_blob=True)
settings.load_profile("footnotes")
