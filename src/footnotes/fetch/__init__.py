"""Our own client for pages on the web: it knows where it may connect to, how much it may read, and how to behave."""

from __future__ import annotations

from footnotes.fetch.client import Client as Client
from footnotes.fetch.client import Fetched as Fetched
from footnotes.fetch.client import Rules as Rules
from footnotes.fetch.client import Unchanged as Unchanged
from footnotes.fetch.url import is_url as is_url
