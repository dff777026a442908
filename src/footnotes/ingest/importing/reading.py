"""Reads records into the spool. Records without a text, or that cannot be stored, are counted by reason."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress

from footnotes.errors import ImportFormatError, OptionError
from footnotes.ingest.importing.fields import NO_GROUPS, group_of, order_of
from footnotes.ingest.importing.records import ImportOptions, Reader, SourceRecord
from footnotes.ingest.importing.spool import NewRecord, Spool
from footnotes.ingest.importing.texts import TEXT_FIELDS, clean_text, text_and_metadata
from footnotes.ingest.importing.vectors import pack_vector
from footnotes.ingest.names import MAX_METADATA, check_metadata
from footnotes.ingest.work import OnProgress, Progress
from footnotes.text.tokens import count_tokens
from footnotes.types import Metadata

REPORTED_EVERY = 100
_FIELDS_NAMED = 20
_TOO_MUCH = f"the metadata has more than {MAX_METADATA:,} characters"


class Reading:
    """Reads one source into a spool."""

    def __init__(self, reader: Reader, options: ImportOptions, spool: Spool, on_progress: OnProgress) -> None:
        self._reader = reader
        self._options = options
        self._spool = spool
        self._on_progress = on_progress
        self._fields: dict[str, None] = {}
        self._metadata_fields: dict[str, None] = {}
        self._grouped = 0
        self.total = 0
        self.left_out: Counter[str] = Counter()

    def run(self) -> None:
        expected = self._reader.count()
        for found in self._reader.records():
            if self.total % REPORTED_EVERY == 0:
                self._on_progress(Progress("importing", self.total, expected))
            self.total += 1
            self._read_record(found)
        self._check()
        self._spool.complete()

    def _read_record(self, found: SourceRecord) -> None:
        text, metadata = text_and_metadata(found, self._options.text_field)
        for names, fields in ((self._fields, found.payload), (self._metadata_fields, metadata)):
            if len(names) < _FIELDS_NAMED:
                names.update(dict.fromkeys(map(str, fields)))
        if text is None:
            self.left_out[self._no_text()] += 1
            return
        try:
            clean = _clean_metadata(metadata)
        except OptionError as error:
            is_long = "characters" in error.message  # all lengths count as one reason
            self.left_out[_TOO_MUCH if is_long else error.message] += 1
            return
        group = group_of(clean, self._options.group_by)
        self._grouped += group is not None
        self._spool.put(
            NewRecord(
                id=clean_text(found.id),
                text=text,
                metadata=json.dumps(clean, sort_keys=True),
                tokens=count_tokens(text),
                group=group,
                order=order_of(clean),
                vector=pack_vector(found.vector),
            )
        )

    def _no_text(self) -> str:
        if self._options.text_field:
            return f"there is no text in the field {self._options.text_field}"
        return f"there is no text: none of the fields {', '.join(TEXT_FIELDS)}"

    def _check(self) -> None:
        """Raise if an option fits no record at all."""
        if self.total and not self._spool.count:
            reason = next(iter(self.left_out))
            problem = f"none of the {self.total:,} records can be imported: {reason}"
            raise ImportFormatError(
                f"{problem}; available fields: {_list_names(self._fields)}",
                remedy="Name the field with the text: --text-field NAME.",
            )
        group_by = self._options.group_by
        if group_by not in ("", NO_GROUPS) and self._spool.count and not self._grouped:
            raise OptionError(
                f"no record has the field {group_by!r} to group by; available fields: "
                f"{_list_names(self._metadata_fields)}",
                remedy="Name another field after --group-by, or `-` to make every record a document.",
            )


def _clean_metadata(metadata: dict[str, object]) -> Metadata:
    """Make metadata fit for every store; invalid Unicode is replaced."""
    with suppress(TypeError, ValueError, RecursionError):  # the check below raises these
        metadata = json.loads(clean_text(json.dumps(metadata, ensure_ascii=False)))
    return check_metadata(metadata)


def _list_names(fields: dict[str, None]) -> str:
    return ", ".join(list(fields)[:_FIELDS_NAMED]) or "none"
