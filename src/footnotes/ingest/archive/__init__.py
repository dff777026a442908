"""Archives: every member of a zip or a tar becomes a document."""

from __future__ import annotations

from footnotes.ingest.archive.members import ArchiveLimits as ArchiveLimits
from footnotes.ingest.archive.members import is_archive as is_archive
from footnotes.ingest.archive.unpack import Batch as Batch
from footnotes.ingest.archive.unpack import batches as batches
