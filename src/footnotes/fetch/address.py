"""Which network addresses may be connected to. Names are resolved once, and the address that was checked is dialled."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from footnotes.errors import FetchFailed, UrlBlocked

Address = IPv4Address | IPv6Address

_NOT_THE_INTERNET = frozenset({ip_address("168.63.129.16")})
"""Addresses that look public but are the machine's own host: the wire server of a cloud."""
_TRANSLATED = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
"""IPv6 addresses whose last four bytes are the IPv4 address that is really reached."""


def is_public(text: str) -> bool:
    """Whether an address belongs to the public internet, in whichever way it is written or wrapped."""
    address = ip_address(text.partition("%")[0])
    return all(_is_public(each) for each in (address, *_inside(address)))


def _is_public(address: Address) -> bool:
    special = address.is_multicast or address.is_reserved or address.is_unspecified or address.is_loopback
    local = address.is_link_local or address.is_private or (address.version == 6 and address.is_site_local)
    wraps = address.version == 6 and (address.ipv4_mapped is not None or _is_translated(address))
    return address not in _NOT_THE_INTERNET and not special and not local and (address.is_global or wraps)


def _inside(address: Address) -> list[IPv4Address]:
    """The IPv4 addresses an IPv6 address stands for: mapped, translated, 6to4 or Teredo."""
    if address.version == 4:
        return []
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if _is_translated(address):
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [each for each in found if each is not None]


def _is_translated(address: IPv6Address) -> bool:
    return any(address in network for network in _TRANSLATED)


def connect(host: str, port: int, *, timeout: float, private: bool) -> socket.socket:
    """A connection to a host, to none of its addresses that may not be reached."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchFailed(f"the host {host} is not known ({error})") from error
    allowed = [each for each in found if private or is_public(str(each[4][0]))]
    if not allowed:
        raise UrlBlocked(f"{host} is an address inside a network, not on the internet")
    failure: OSError | None = None
    for family, kind, protocol, _, address in allowed:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(timeout)
            connection.connect(address)
            return connection
        except OSError as error:
            connection.close()
            failure = error
    raise FetchFailed(f"{host} cannot be reached ({failure})") from failure
