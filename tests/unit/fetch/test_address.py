"""Which addresses may be connected to, and that the one that was checked is the one that is dialled."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from footnotes.errors import FetchFailed, UrlBlocked
from footnotes.fetch.address import connect, is_public
from web_site import Site

INSIDE = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "100.100.100.200",
    "169.254.169.254",
    "192.0.0.192",
    "168.63.129.16",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
]
OUTSIDE = ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::101:101", "::ffff:1.1.1.1"]


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_inside_networks_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", OUTSIDE)
def test_addresses_of_the_internet_are(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "0", "::1"])
def test_loopback_in_any_spelling_is_blocked(host: str) -> None:
    with Site() as site:
        with pytest.raises((UrlBlocked, FetchFailed)):
            connect(host, site.port, left=lambda: 2.0, private=False)
        assert site.asked == []


def test_the_same_connection_is_made_where_it_is_allowed() -> None:
    """The positive control: without the rule the connection comes about."""
    with Site() as site:
        connection = connect("127.0.0.1", site.port, left=lambda: 2.0, private=True)
        assert connection.getpeername() == ("127.0.0.1", site.port)
        connection.close()


def test_a_name_is_resolved_once_and_the_checked_address_is_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that answers with another address the second time gains nothing."""
    answers = iter(["93.184.216.34", "127.0.0.1", "127.0.0.1"])
    dialled: list[Any] = []

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def dial(self: socket.socket, address: Any) -> None:
        dialled.append(address[0])
        raise OSError("not in a test")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket.socket, "connect", dial)
    with pytest.raises(FetchFailed):
        connect("rebinds.example", 80, left=lambda: 1.0, private=False)
    assert dialled == ["93.184.216.34"]
    with pytest.raises(UrlBlocked):
        connect("rebinds.example", 80, left=lambda: 1.0, private=False)
    assert dialled == ["93.184.216.34"]


def test_of_several_addresses_only_public_ones_are_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    dialled: list[Any] = []
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 80)) for each in ("10.0.0.1", "1.1.1.1", "127.0.0.1")]

    def dial(self: socket.socket, address: Any) -> None:
        dialled.append(address[0])
        raise OSError("not in a test")

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket.socket, "connect", dial)
    with pytest.raises(FetchFailed):
        connect("mixed.example", 80, left=lambda: 1.0, private=False)
    assert dialled == ["1.1.1.1"]
