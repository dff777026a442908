"""Opens sources by their addresses, through the entry points `footnotes.sources`, and translates their errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from footnotes import plugins
from footnotes.errors import FootnotesError, MissingExtra, OptionError, SourceAway
from footnotes.ingest.sources import Source
from footnotes.ingest.sources.address import Address, kind_of, parse_address, scheme_of
from footnotes.ingest.sources.secrets import Secrets
from footnotes.settings import Settings

_LONGEST = 300


def is_source(text: str) -> bool:
    """Return whether a text is the address of a source and not the path of a folder."""
    kind = kind_of(scheme_of(text))
    if "://" in text and kind not in plugins.names("sources"):
        raise OptionError(f"unknown source {kind!r}; known: {', '.join(plugins.names('sources'))}")
    return kind in plugins.names("sources")


@dataclass(frozen=True, slots=True)
class SourceAccess:
    """What the caller of an address may reach. An untrusted caller came over a network; `sealed` are the secrets
    of the address, by the names of their options."""

    trusted: bool = True
    sealed: Mapping[str, str] = field(default_factory=dict, repr=False)


@contextmanager
def open_source(
    text: str, settings: Settings, *, options: Mapping[str, str] | None = None, access: SourceAccess | None = None
) -> Iterator[tuple[Source, Address]]:
    """Open the source of an address for the context."""
    may = access or SourceAccess()
    secrets = Secrets(may.sealed)
    address = parse_address(text, settings, options=options, trusted=may.trusted, secrets=secrets)
    kind = plugins.find("sources", address.kind)
    with address.held:
        with translate_errors(address):
            source: Source = kind.opened(address)
        try:
            yield source, address
        finally:
            with translate_errors(address):
                source.close()


@contextmanager
def translate_errors(address: Address) -> Iterator[None]:
    """Translate any error of a driver to `SourceAway`, without secrets in its message.

    Errors are not chained: a traceback would show the driver's arguments.
    """
    try:
        yield
    except FootnotesError:
        raise
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{address.kind} sources need the package {error.name!r}, which is not installed",
            remedy=f'pip install "footnotes[{address.kind}]"',
        ) from None
    except FileNotFoundError as error:
        reason = error.strerror or str(error) or "it is not there"
    except Exception as error:
        reason = str(error) or type(error).__name__
    else:
        return
    cleaned = " ".join(address.secrets.scrub(reason).split())[:_LONGEST]
    raise SourceAway(f"{address.text} cannot be read ({cleaned})") from None
