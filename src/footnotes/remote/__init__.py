"""Calls over a network: deadlines, retries, a circuit, and errors that never hold a key.

Embedders, chat models and rerankers behind a network all use `Remote`.
"""

from __future__ import annotations

from footnotes.remote.client import Endpoint, Remote
from footnotes.remote.deadline import Deadline

__all__ = ["Deadline", "Endpoint", "Remote"]
