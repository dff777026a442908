"""Checks network addresses. A name is resolved once, and the connection uses the checked address."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from threading import Thread
from typing import Any

from footnotes.errors import FetchFailed, UrlBlocked

_INSIDE_4 = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
            "168.63.129.16/32",  # looks public, but is the host of a virtual machine in a cloud
        ),
    )
)
_METADATA = ("168.63.129.16", "100.100.100.200", "fd00:ec2::254")
"""Metadata services of clouds, which serve secrets, besides the link-local addresses."""
_OUTSIDE_6 = IPv6Network("2000::/3")
_INSIDE_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv6 addresses whose last four bytes are the IPv4 address that is really reached."""


def is_public(text: str) -> bool:
    """Return whether an address belongs to the public internet, in any notation or embedding.

    The ranges come from the registries of special addresses; those of the standard library depend on its version.
    """
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _INSIDE_4)
    wrapped = _embedded_ipv4(address)
    if wrapped is not None:
        return is_public(str(wrapped))
    return address in _OUTSIDE_6 and not any(address in network for network in _INSIDE_6)


def names_private(host: str) -> bool:
    """Return whether a host needs no resolver to be private: a number of a private network, or this machine."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not is_public(name if ":" in name else socket.inet_ntoa(socket.inet_aton(name)))
    except (OSError, ValueError):  # a name
        return False


def _embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address in an IPv6 address: mapped, translated or 6to4."""
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def connect(host: str, port: int, *, left: Callable[[], float], private: bool) -> socket.socket:
    """Connect to a host, at an allowed address.

    `left` returns the remaining seconds, for the name and all its addresses together.
    """
    found = _resolve(host, port, left())
    allowed = [each for each in found if private or is_public(str(each[4][0]))]
    if not allowed:
        raise UrlBlocked(f"{host} is an address in a private network, not on the internet")
    failure: OSError | None = None
    for family, kind, protocol, _, address in allowed:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(left())
            connection.connect(address)
            return connection
        except OSError as error:
            connection.close()
            failure = error
        except BaseException:
            connection.close()
            raise
    raise FetchFailed(f"{host} cannot be reached ({failure})") from failure


def public_address(host: str, port: int, seconds: float) -> str:
    """Return the first public address of a host. Raises if it has none."""
    for each in _resolve(host, port, seconds):
        if is_public(str(each[4][0])):
            return str(each[4][0])
    raise UrlBlocked(f"{host} is an address in a private network, not on the internet")


def check_not_metadata(host: str, port: int, seconds: float) -> None:
    """Raise if a host is a metadata service, which serves secrets to virtual machines."""
    for each in _resolve(host, port, seconds):
        address = ip_address(str(each[4][0]).partition("%")[0])
        bare = _embedded_ipv4(address) or address if isinstance(address, IPv6Address) else address
        if bare.is_link_local or str(bare) in _METADATA:
            raise UrlBlocked(f"{host} is an address that only virtual machines use")


def _resolve(host: str, port: int, seconds: float) -> list[Any]:
    """Resolve a host, in a thread because the system's resolver has no deadline."""
    answer: Future[list[Any]] = Future()

    def ask() -> None:
        try:
            answer.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answer.set_exception(error)

    Thread(target=ask, name="footnotes-resolve", daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError as error:
        raise FetchFailed(f"the host {host} could not be resolved in time") from error
    except (OSError, UnicodeError) as error:
        raise FetchFailed(f"the host {host} is not known ({error})") from error
