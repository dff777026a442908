"""Every error Footnotes raises on purpose.

FootnotesError
├── InputError            the caller can correct it
│   ├── DocumentError         one document cannot be ingested
│   │   ├── EmptyDocument         empty_document
│   │   ├── ParseError            parse_error
│   │   ├── ParseLimit            parse_limit
│   │   ├── ArchiveLimit          archive_limit
│   │   ├── EncryptedDocument     encrypted_document
│   │   ├── UnsupportedType       unsupported_type
│   │   ├── DocumentTooLarge      document_too_large
│   │   ├── SourceUnreadable      source_unreadable
│   │   ├── SourceAway            source_away
│   │   ├── ArchiveMember         archive_member
│   │   ├── UrlBlocked            url_blocked
│   │   ├── RobotsDisallowed      robots_disallowed
│   │   └── FetchFailed           fetch_failed
│   ├── QueryError            query_empty, query_too_long
│   ├── FilterError           filter_invalid
│   ├── OptionError           option_invalid
│   ├── NotFound              not_found
│   ├── SyncRefused           sync_refused
│   ├── ImportFormatError     import_invalid
│   ├── GoldenError           golden_invalid
│   └── ReindexRefused        reindex_refused
├── ConfigError           settings_invalid
│   ├── UnknownPlugin         unknown_plugin
│   ├── PluginBroken          plugin_broken
│   └── MissingExtra          missing_extra
├── StoreError            the library's storage
│   ├── StoreLocked           store_locked
│   │   └── GenerationReplaced    generation_replaced
│   ├── StoreCorrupt          store_corrupt
│   ├── StoreFull             storage_full
│   ├── StoreUnavailable      store_unavailable
│   │   └── StoreReadOnly         store_read_only
│   ├── SchemaTooNew          schema_too_new
│   ├── CopyTargetInUse       copy_target_in_use
│   ├── CopyMismatch          copy_mismatch
│   ├── BackupDamaged         backup_damaged
│   └── NotALibrary           not_a_library
├── IndexFailed           a remote index
│   ├── IndexUnavailable      index_unavailable
│   ├── IndexRefused          index_refused
│   ├── IndexMismatch         index_mismatch
│   ├── IndexMissing          index_missing
│   └── IndexForeign          index_foreign
├── EmbeddingError        the embedder
│   ├── EmbedderUnavailable   embedder_unavailable
│   ├── DimensionMismatch     dimension_mismatch
│   ├── InvalidVector         invalid_vector
│   └── ModelDamaged          model_damaged
├── ProviderError         a remote model
│   ├── ProviderUnavailable   provider_unavailable
│   ├── ProviderTimeout       provider_timeout
│   ├── ProviderRateLimited   provider_rate_limited
│   ├── ProviderRefused       provider_refused
│   └── ProviderBadResponse   provider_bad_response
├── ServeError            a request to the server
│   ├── RequestInvalid        request_invalid
│   ├── Unauthorized          unauthorized
│   ├── Forbidden             forbidden
│   ├── OriginRefused         origin_refused
│   ├── MethodRefused         method_not_allowed
│   ├── BodyTooLarge          body_too_large
│   ├── HeadersTooLarge       headers_too_large
│   ├── ClientTooSlow         client_too_slow
│   ├── RateLimited           rate_limited
│   ├── QuotaExceeded         quota_exceeded
│   ├── ServerBusy            server_busy
│   ├── WorkerDied            worker_died
│   ├── StorageQuota          storage_quota
│   └── AddressRefused        address_refused
├── SearchUnavailable     search_unavailable: no leg could run
└── Interrupted           interrupted: stopped on request; acknowledged work is stored

An error has a stable `code`, a message that states the cause in one sentence, a `remedy`, and `retryable`:
whether the same call may succeed later without a change.
"""

from __future__ import annotations

from typing import ClassVar

from footnotes.types import ErrorInfo


class FootnotesError(Exception):
    """The root of the tree. Catch this to catch everything Footnotes raises on purpose."""

    code: ClassVar[str] = "internal_error"
    default_remedy: ClassVar[str] = "Please report this, with the steps to reproduce it."
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy or self.default_remedy

    def info(self) -> ErrorInfo:
        """Return the error as data."""
        return ErrorInfo(self.code, self.message, self.remedy)

    def __str__(self) -> str:
        return self.message


class InputError(FootnotesError):
    """The caller can correct the input."""

    code = "invalid_input"
    default_remedy = "Correct the input and call again."


class DocumentError(InputError):
    """One document cannot be ingested; the others continue."""

    code = "document_error"


class EmptyDocument(DocumentError):
    code = "empty_document"
    default_remedy = "Check that the file has content. A scan without a text layer needs OCR."


class ParseError(DocumentError):
    code = "parse_error"
    default_remedy = "The file may be damaged: open it in its own program and save it again."


class ParseLimit(DocumentError):
    code = "parse_limit"
    default_remedy = "Split the file, or raise the parser limits in the settings if you trust it."


class ArchiveLimit(DocumentError):
    code = "archive_limit"
    default_remedy = "The archive is suspiciously large when unpacked. Unpack it yourself if you trust it."


class EncryptedDocument(DocumentError):
    code = "encrypted_document"
    default_remedy = "Enter the password of a PDF on the page, or add a copy without a password."


class UnsupportedType(DocumentError):
    code = "unsupported_type"
    default_remedy = "Convert the file to text, Markdown or PDF."


class DocumentTooLarge(DocumentError):
    code = "document_too_large"
    default_remedy = "Split the file, or raise max_file_bytes in the settings."


class SourceUnreadable(DocumentError):
    code = "source_unreadable"
    default_remedy = "Check that the path exists and that you have permission to read it."


class SourceAway(DocumentError):
    """A synced source is unreachable. Nothing is deleted."""

    code = "source_away"
    default_remedy = "Check the address and the connection. Nothing was deleted; the next sync retries."
    retryable = True


class ArchiveMember(DocumentError):
    """A member of an archive that is not extracted."""

    code = "archive_member"
    default_remedy = "Unpack the archive yourself and add the folder."


class UrlBlocked(DocumentError):
    """An address that Footnotes does not connect to."""

    code = "url_blocked"
    default_remedy = "If you trust the address, allow it with fetch_private in the settings."


class RobotsDisallowed(DocumentError):
    code = "robots_disallowed"
    default_remedy = "The site forbids automated access to this page. Save the page yourself and add the file."


class FetchFailed(DocumentError):
    code = "fetch_failed"
    default_remedy = "Check the address in a browser and retry."
    retryable = True


class QueryError(InputError):
    code = "query_invalid"
    default_remedy = "Shorten the question."


class QueryEmpty(QueryError):
    code = "query_empty"
    default_remedy = "Enter at least one word or number."


class QueryTooLong(QueryError):
    code = "query_too_long"
    default_remedy = "Shorten the question. The limit is max_query_chars in the settings."


class FilterError(InputError):
    code = "filter_invalid"
    default_remedy = "See docs/reference/filters.md for the fields and operators."


class OptionError(InputError):
    code = "option_invalid"
    default_remedy = "See the reference for the allowed values."


class NotFound(InputError):
    code = "not_found"
    default_remedy = "List the documents to see their ids."


class SyncRefused(InputError):
    """A sync that would delete every document of its source."""

    code = "sync_refused"
    default_remedy = "Check that the folder is correct and mounted. To delete the documents, sync with --delete-all."


class ImportFormatError(InputError):
    code = "import_invalid"
    default_remedy = "Pass a file written by `footnotes export`."


class GoldenError(InputError):
    code = "golden_invalid"
    default_remedy = "See docs/evaluation.md for the formats of a golden set."


class ReindexRefused(InputError):
    code = "reindex_refused"
    default_remedy = (
        "The current generation still serves. The new one is stored: reindex without the gate to switch to it at once."
    )


class ConfigError(FootnotesError):
    code = "settings_invalid"
    default_remedy = "Correct footnotes.toml or the named FOOTNOTES_* variable."


class UnknownPlugin(ConfigError):
    code = "unknown_plugin"
    default_remedy = "Use one of the listed names, or install the package that provides it."


class PluginBroken(ConfigError):
    code = "plugin_broken"
    default_remedy = "Update or remove the package that provides it."


class MissingExtra(ConfigError):
    code = "missing_extra"
    default_remedy = "Install the named extra."


class StoreError(FootnotesError):
    code = "store_error"
    default_remedy = "Run `footnotes verify` to find the cause."


class StoreLocked(StoreError):
    code = "store_locked"
    default_remedy = "Wait for the other process, or stop it."
    retryable = True


class CopyTargetInUse(StoreError):
    code = "copy_target_in_use"
    default_remedy = "Copy to a folder or database where the tenant has no documents, or use export and import."


class BackupDamaged(StoreError):
    code = "backup_damaged"
    default_remedy = "Use another snapshot or another backup."


class CopyMismatch(StoreError):
    code = "copy_mismatch"
    default_remedy = "Run `footnotes verify` on both sides, delete the document in the copy, and copy again."


class GenerationReplaced(StoreLocked):
    """The written data belongs to a generation that no longer serves."""

    code = "generation_replaced"
    default_remedy = "Retry: the document is rebuilt for the current generation."


class StoreCorrupt(StoreError):
    code = "store_corrupt"
    default_remedy = "Restore the library from a backup, or export the readable documents and import them again."


class StoreFull(StoreError):
    code = "storage_full"
    default_remedy = "Free some space and retry. No acknowledged document was lost."
    retryable = True


class StoreUnavailable(StoreError):
    code = "store_unavailable"
    default_remedy = "Check that the library's folder is readable and writable."
    retryable = True


class StoreReadOnly(StoreUnavailable):
    """A replica, or a server started with --read-only."""

    code = "store_read_only"
    default_remedy = "Send changes to a server of the primary database."
    retryable = False

    @classmethod
    def refer(cls, primary: str) -> StoreReadOnly:
        """Build an error that names the address which accepts changes."""
        where = primary or "a server of the primary database"
        return cls(f"the library is read-only here; {where} accepts changes", remedy=f"Send it to {where}.")


class SchemaTooNew(StoreError):
    code = "schema_too_new"
    default_remedy = "Upgrade Footnotes. The library was not changed."


class NotALibrary(StoreError):
    code = "not_a_library"
    default_remedy = "Pass the folder of a library, or add a document to create one."


class IndexFailed(FootnotesError):
    """A remote index cannot serve its leg. The store has all data: nothing is lost."""

    code = "index_failed"
    default_remedy = "Run `footnotes verify --repair` when the vector database works again."


class IndexUnavailable(IndexFailed):
    code = "index_unavailable"
    default_remedy = "Start the vector database or correct the setting `index`. It then catches up by itself."
    retryable = True


class IndexRefused(IndexFailed):
    code = "index_refused"
    default_remedy = "Check `index_api_key` and the permissions of the key."


class IndexMismatch(IndexFailed):
    code = "index_mismatch"
    default_remedy = "Set another prefix in the setting `index`, or remove the collection if it is unused."


class IndexMissing(IndexFailed):
    code = "index_missing"
    default_remedy = "The next change rebuilds it. To rebuild it now, run `footnotes verify --repair`."
    retryable = True


class IndexForeign(IndexFailed):
    code = "index_foreign"
    default_remedy = "Set another prefix in the setting `index`: this collection belongs to another program."


class EmbeddingError(FootnotesError):
    code = "embedding_error"
    default_remedy = "Check the embedder in the settings."


class EmbedderUnavailable(EmbeddingError):
    code = "embedder_unavailable"
    default_remedy = "Install the embedder's package, or choose another embedder in the settings."
    retryable = True


class DimensionMismatch(EmbeddingError):
    code = "dimension_mismatch"
    default_remedy = "Run `footnotes reindex` to build vectors with the new model."


class InvalidVector(EmbeddingError):
    code = "invalid_vector"
    default_remedy = "Check the model or choose another: its vectors cannot be compared."


class ModelDamaged(EmbeddingError):
    code = "model_damaged"
    default_remedy = "Reinstall the package that contains the model."


class ProviderError(FootnotesError):
    """A remote model failed. The caller made no mistake."""

    code = "provider_error"
    default_remedy = "Check the provider's status and the settings."
    retry_after: float | None = None  # seconds that the provider asked to wait
    status: int | None = None  # HTTP status, if the provider responded


class ProviderUnavailable(ProviderError):
    code = "provider_unavailable"
    default_remedy = "Check the provider's address and that it is running."
    retryable = True


class ProviderTimeout(ProviderError):
    code = "provider_timeout"
    default_remedy = "Retry, or raise the timeout in the settings."
    retryable = True


class ProviderRateLimited(ProviderError):
    code = "provider_rate_limited"
    default_remedy = "Wait as long as the provider asks, or raise your limit with the provider."
    retryable = True


class ProviderRefused(ProviderError):
    code = "provider_refused"
    default_remedy = "Check the key and the model name in the settings."


class ProviderBadResponse(ProviderError):
    code = "provider_bad_response"
    default_remedy = "Check that the address belongs to the named provider, and retry."
    retryable = True


class ServeError(FootnotesError):
    """The server refused a request."""

    code = "serve_error"
    default_remedy = "See docs/server.md."
    retry_after: float | None = None  # seconds until a retry may succeed


class RequestInvalid(ServeError):
    code = "request_invalid"
    default_remedy = "Compare the request with /openapi.json."


class Unauthorized(ServeError):
    code = "unauthorized"
    default_remedy = "Send a valid key as `Authorization: Bearer …`. `footnotes keys create` creates one."


class Forbidden(ServeError):
    code = "forbidden"
    default_remedy = "Use a key with the named scope."


class OriginRefused(ServeError):
    """A request from a page of another origin, or to another host name."""

    code = "origin_refused"
    default_remedy = "Open the server's own address, or allow the origin with serve_cors in the settings."


class MethodRefused(ServeError):
    code = "method_not_allowed"
    default_remedy = "Use one of the methods in the Allow header."


class BodyTooLarge(ServeError):
    code = "body_too_large"
    default_remedy = "Send less at once, or raise serve_upload_bytes or serve_body_bytes in the settings."


class HeadersTooLarge(ServeError):
    code = "headers_too_large"
    default_remedy = "Send fewer or shorter headers."


class ClientTooSlow(ServeError):
    code = "client_too_slow"
    default_remedy = "Send headers and body without long pauses."
    retryable = True


class RateLimited(ServeError):
    code = "rate_limited"
    default_remedy = "Wait for the seconds in Retry-After."
    retryable = True


class QuotaExceeded(ServeError):
    code = "quota_exceeded"
    default_remedy = "Wait for the named date, or raise serve_answers in the settings."


class ServerBusy(ServeError):
    code = "server_busy"
    default_remedy = "Retry in a moment."
    retryable = True


class WorkerDied(ServeError):
    """The ingest process died during a job."""

    code = "worker_died"
    default_remedy = "Retry the job. If it fails again, the document may need more memory than available."
    retryable = True


class StorageQuota(ServeError):
    """A tenant has reached its storage limit."""

    code = "storage_quota"
    default_remedy = "Delete documents, or raise serve_tenant_bytes in the settings."


class AddressRefused(ServeError):
    """The server does not listen on a public address without keys."""

    code = "address_refused"
    default_remedy = "Create a key with `footnotes keys create`, or listen on 127.0.0.1."


class SearchUnavailable(FootnotesError):
    code = "search_unavailable"
    default_remedy = "The message has the cause for each leg. Fix one of them."
    retryable = True


class Interrupted(FootnotesError):
    code = "interrupted"
    default_remedy = "Run the same command again to continue."
    retryable = True


def all_errors(root: type[FootnotesError] = FootnotesError) -> list[type[FootnotesError]]:
    """Return every class of the tree, in the order of the docstring above."""
    found = [root]
    for child in root.__subclasses__():
        found.extend(all_errors(child))
    return found


def is_retryable(code: str) -> bool:
    """Return whether the same call may succeed later without a change."""
    return any(error.retryable for error in all_errors() if error.code == code)
