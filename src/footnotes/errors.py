"""Every error Footnotes raises on purpose.

FootnotesError
├── InputError            the caller can mend it
│   ├── DocumentError         one document cannot be taken in
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
├── StoreError            the library on disk
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
├── IndexFailed           a vector database that serves a leg
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
├── ProviderError         a model behind a network
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
└── Interrupted           interrupted: stopped on request; what was acknowledged is kept

An error has a stable `code`, a message that states the cause in one sentence, a `remedy` that says what to
do, and `retryable`: whether the same call may succeed later without a change.
"""

from __future__ import annotations

from typing import ClassVar

from footnotes.types import ErrorInfo


class FootnotesError(Exception):
    """The root of the tree. Catch this to catch everything Footnotes raises on purpose."""

    code: ClassVar[str] = "internal_error"
    default_remedy: ClassVar[str] = "Please report this with the steps that led to it."
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy or self.default_remedy

    def info(self) -> ErrorInfo:
        """The error as data."""
        return ErrorInfo(self.code, self.message, self.remedy)

    def __str__(self) -> str:
        return self.message


class InputError(FootnotesError):
    """The caller can mend it."""

    code = "invalid_input"
    default_remedy = "Correct the input and call again."


class DocumentError(InputError):
    """One document cannot be taken in; the others go on."""

    code = "document_error"


class EmptyDocument(DocumentError):
    code = "empty_document"
    default_remedy = "Check that the file has content; a scan without a text layer needs OCR."


class ParseError(DocumentError):
    code = "parse_error"
    default_remedy = "The file seems damaged: open it in its own program and save it again."


class ParseLimit(DocumentError):
    code = "parse_limit"
    default_remedy = "Split the file, or raise the parser limits in the settings if you trust it."


class ArchiveLimit(DocumentError):
    code = "archive_limit"
    default_remedy = (
        "The archive unpacks to more than a document of its kind should; unpack it yourself if you trust it."
    )


class EncryptedDocument(DocumentError):
    code = "encrypted_document"
    default_remedy = "Give the password of a PDF on the page, or add a copy without one."


class UnsupportedType(DocumentError):
    code = "unsupported_type"
    default_remedy = "Convert the file to text, Markdown or PDF."


class DocumentTooLarge(DocumentError):
    code = "document_too_large"
    default_remedy = "Split the file, or raise max_file_bytes in the settings."


class SourceUnreadable(DocumentError):
    code = "source_unreadable"
    default_remedy = "Check that the path exists and that you may read it."


class SourceAway(DocumentError):
    """A source that is followed cannot be read now. It is no reason to delete anything."""

    code = "source_away"
    default_remedy = "Check its address and that it can be reached; nothing was deleted. The next sync tries again."
    retryable = True


class ArchiveMember(DocumentError):
    """A member of an archive that is not taken out of it."""

    code = "archive_member"
    default_remedy = "Unpack the archive yourself and add the folder."


class UrlBlocked(DocumentError):
    """An address that is not fetched from, whoever named it."""

    code = "url_blocked"
    default_remedy = "If the address is yours and meant, allow it with fetch_private in the settings."


class RobotsDisallowed(DocumentError):
    code = "robots_disallowed"
    default_remedy = "The site asks programs not to read this page; save it yourself and add the file."


class FetchFailed(DocumentError):
    code = "fetch_failed"
    default_remedy = "Check the address in a browser, and try again."
    retryable = True


class QueryError(InputError):
    code = "query_invalid"
    default_remedy = "Ask in fewer words."


class QueryEmpty(QueryError):
    code = "query_empty"
    default_remedy = "Write at least one word or number."


class QueryTooLong(QueryError):
    code = "query_too_long"
    default_remedy = "Shorten the question; max_query_chars in the settings is the limit."


class FilterError(InputError):
    code = "filter_invalid"
    default_remedy = "See docs/reference/filters.md for fields and operators."


class OptionError(InputError):
    code = "option_invalid"
    default_remedy = "See the reference for the allowed values."


class NotFound(InputError):
    code = "not_found"
    default_remedy = "List the documents to see the ids there are."


class SyncRefused(InputError):
    """A sync that would delete everything, which is rarely meant."""

    code = "sync_refused"
    default_remedy = "Check that the folder is the right one and mounted; if it is meant, sync with --delete-all."


class ImportFormatError(InputError):
    code = "import_invalid"
    default_remedy = "Give a file written by `footnotes export`."


class GoldenError(InputError):
    code = "golden_invalid"
    default_remedy = "See docs/evaluation.md for the formats of a golden set."


class ReindexRefused(InputError):
    code = "reindex_refused"
    default_remedy = (
        "Everything serves as before. What was built is kept: the same reindex without the gate switches to it at once."
    )


class ConfigError(FootnotesError):
    code = "settings_invalid"
    default_remedy = "Correct footnotes.toml or the FOOTNOTES_* variable that is named."


class UnknownPlugin(ConfigError):
    code = "unknown_plugin"
    default_remedy = "Use one of the names listed, or install the package that provides it."


class PluginBroken(ConfigError):
    code = "plugin_broken"
    default_remedy = "Update or remove the package that provides it."


class MissingExtra(ConfigError):
    code = "missing_extra"
    default_remedy = "Install the extra that is named."


class StoreError(FootnotesError):
    code = "store_error"
    default_remedy = "Run `footnotes verify` to see what is wrong."


class StoreLocked(StoreError):
    code = "store_locked"
    default_remedy = "Wait for the other process, or stop it."
    retryable = True


class CopyTargetInUse(StoreError):
    code = "copy_target_in_use"
    default_remedy = "Copy to a folder or database in which the tenant has nothing, or import an export of it."


class BackupDamaged(StoreError):
    code = "backup_damaged"
    default_remedy = "Use another snapshot of it, or another backup."


class CopyMismatch(StoreError):
    code = "copy_mismatch"
    default_remedy = "Run `footnotes verify` on both sides; then delete the document in the copy and copy again."


class GenerationReplaced(StoreLocked):
    """What was being written was made for a generation that serves no more."""

    code = "generation_replaced"
    default_remedy = "Try again: it is made for the generation that serves now."


class StoreCorrupt(StoreError):
    code = "store_corrupt"
    default_remedy = "Restore the library from a backup, or export what can be read and import it again."


class StoreFull(StoreError):
    code = "storage_full"
    default_remedy = "Free some space and call again; nothing acknowledged was lost."
    retryable = True


class StoreUnavailable(StoreError):
    code = "store_unavailable"
    default_remedy = "Check that the library's folder can be read and written."
    retryable = True


class StoreReadOnly(StoreUnavailable):
    """A replica, or a server that was started to read alone."""

    code = "store_read_only"
    default_remedy = "Send what changes a library to a server of the primary database."
    retryable = False

    @classmethod
    def refer(cls, primary: str) -> StoreReadOnly:
        """Refers a change to the address that takes it, where that is known."""
        where = primary or "a server of the primary database"
        return cls(f"the library can only be read here; {where} takes changes", remedy=f"Send it to {where}.")


class SchemaTooNew(StoreError):
    code = "schema_too_new"
    default_remedy = "Upgrade Footnotes; the library was left untouched."


class NotALibrary(StoreError):
    code = "not_a_library"
    default_remedy = "Name a folder that holds a library, or add a document to make one."


class IndexFailed(FootnotesError):
    """A vector database does not serve its leg. The store has everything: nothing is lost."""

    code = "index_failed"
    default_remedy = "Run `footnotes verify --repair` when the vector database is well."


class IndexUnavailable(IndexFailed):
    code = "index_unavailable"
    default_remedy = "Start the vector database or correct the setting `index`; what came meanwhile follows by itself."
    retryable = True


class IndexRefused(IndexFailed):
    code = "index_refused"
    default_remedy = "Check `index_api_key` and what the key may do."


class IndexMismatch(IndexFailed):
    code = "index_mismatch"
    default_remedy = "Name another prefix in the setting `index`, or remove the collection if nobody else uses it."


class IndexMissing(IndexFailed):
    code = "index_missing"
    default_remedy = "It is made again with the next change, or now by `footnotes verify --repair`."
    retryable = True


class IndexForeign(IndexFailed):
    code = "index_foreign"
    default_remedy = "Name another prefix in the setting `index`: this collection belongs to somebody else."


class EmbeddingError(FootnotesError):
    code = "embedding_error"
    default_remedy = "Check the embedder in the settings."


class EmbedderUnavailable(EmbeddingError):
    code = "embedder_unavailable"
    default_remedy = "Install the embedder's package or choose another in the settings."
    retryable = True


class DimensionMismatch(EmbeddingError):
    code = "dimension_mismatch"
    default_remedy = "Run `footnotes reindex` to build vectors with the new model."


class InvalidVector(EmbeddingError):
    code = "invalid_vector"
    default_remedy = "The model returned vectors that cannot be compared; check the model or choose another."


class ModelDamaged(EmbeddingError):
    code = "model_damaged"
    default_remedy = "Reinstall the package that carries the model."


class ProviderError(FootnotesError):
    """A model behind a network failed; never the caller's mistake."""

    code = "provider_error"
    default_remedy = "Check the provider's status and the settings."
    retry_after: float | None = None  # the seconds a provider asked to wait
    status: int | None = None  # of its answer, where it gave one


class ProviderUnavailable(ProviderError):
    code = "provider_unavailable"
    default_remedy = "Check that the provider's address is right and that it is up."
    retryable = True


class ProviderTimeout(ProviderError):
    code = "provider_timeout"
    default_remedy = "Try again, or raise the timeout in the settings."
    retryable = True


class ProviderRateLimited(ProviderError):
    code = "provider_rate_limited"
    default_remedy = "Wait as long as the provider asks, or raise your limit there."
    retryable = True


class ProviderRefused(ProviderError):
    code = "provider_refused"
    default_remedy = "Check the key and the model name in the settings."


class ProviderBadResponse(ProviderError):
    code = "provider_bad_response"
    default_remedy = "Check that the address is that of the provider named, and try again."
    retryable = True


class ServeError(FootnotesError):
    """A request the server does not carry out."""

    code = "serve_error"
    default_remedy = "See docs/server.md."
    retry_after: float | None = None  # the seconds after which the same request may be served


class RequestInvalid(ServeError):
    code = "request_invalid"
    default_remedy = "Compare the request with /openapi.json."


class Unauthorized(ServeError):
    code = "unauthorized"
    default_remedy = "Send a valid key as `Authorization: Bearer …`; `footnotes keys create` makes one."


class Forbidden(ServeError):
    code = "forbidden"
    default_remedy = "Use a key that has the scope that is named."


class OriginRefused(ServeError):
    """A request that a page of another origin made, or that names another host."""

    code = "origin_refused"
    default_remedy = "Open the server's own address, or allow the origin with serve_cors in the settings."


class MethodRefused(ServeError):
    code = "method_not_allowed"
    default_remedy = "Use one of the methods that the Allow header names."


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
    default_remedy = "Wait as long as Retry-After says."
    retryable = True


class QuotaExceeded(ServeError):
    code = "quota_exceeded"
    default_remedy = "Wait for the date that is named, or raise serve_answers in the settings."


class ServerBusy(ServeError):
    code = "server_busy"
    default_remedy = "Try again in a moment."
    retryable = True


class WorkerDied(ServeError):
    """The process that takes documents in ended in the middle of its work."""

    code = "worker_died"
    default_remedy = "Try the job again; if it dies again, the document may need more memory than there is."
    retryable = True


class StorageQuota(ServeError):
    """A tenant keeps as much as it may."""

    code = "storage_quota"
    default_remedy = "Delete documents, or raise serve_tenant_bytes in the settings."


class AddressRefused(ServeError):
    """A public address without keys is not served."""

    code = "address_refused"
    default_remedy = "Make a key with `footnotes keys create`, or listen on 127.0.0.1."


class SearchUnavailable(FootnotesError):
    code = "search_unavailable"
    default_remedy = "The reasons of each leg are in the message; mend one of them."
    retryable = True


class Interrupted(FootnotesError):
    code = "interrupted"
    default_remedy = "Run the same command again; it resumes where it stopped."
    retryable = True


def all_errors(root: type[FootnotesError] = FootnotesError) -> list[type[FootnotesError]]:
    """Every class of the tree, in the order it is drawn."""
    found = [root]
    for child in root.__subclasses__():
        found.extend(all_errors(child))
    return found


def is_retryable(code: str) -> bool:
    """Whether the same call may succeed later without a change."""
    return any(error.retryable for error in all_errors() if error.code == code)
