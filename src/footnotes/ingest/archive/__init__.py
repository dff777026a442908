"""Archives of documents: a zip or a tar whose every member is a document of its own."""

from __future__ import annotations

from footnotes.ingest.archive.members import ArchiveLimits as ArchiveLimits
from footnotes.ingest.archive.members import is_archive as is_archive
from footnotes.ingest.archive.unpack import Batch as Batch
from footnotes.ingest.archive.unpack import batches as batches
