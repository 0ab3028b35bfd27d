"""Listeners: ports with a name, a protection and the address that clients are told, written as Kafka writes them.

listeners=PLAINTEXT://127.0.0.1:9092,OUTSIDE://0.0.0.0:9093
advertised.listeners=OUTSIDE://broker.example:9093
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OUTSIDE:SSL
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from holdfast.io.address import Address, BadAddress, parse_address
from holdfast.security.protocol import SecurityProtocol

DEFAULT_MAP = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
EVERYWHERE = ("0.0.0.0", "::")  # Nobody can connect to these.
_NAME = re.compile(r"[A-Z0-9][A-Z0-9_.-]*")


class Listener(NamedTuple):
    """One listener, as it is asked for."""

    name: str
    protocol: SecurityProtocol
    address: Address  # Port 0 takes a free one.
    advertised: Address | None  # What clients are told; None: where it listens.


def parse_listeners(listeners: str, advertised: str = "", protocols: str = DEFAULT_MAP) -> tuple[Listener, ...]:
    """The listeners of the three settings; a ValueError says what is wrong with them."""
    if advertised and not listeners:
        raise ValueError("advertised.listeners is set without listeners: for one plain port there is serve.advertise")
    by_name = _protocols(protocols)
    told = dict(_endpoints("advertised.listeners", advertised))
    found = []
    for name, address in _endpoints("listeners", listeners):
        if name not in by_name:
            known = ", ".join(by_name)
            raise ValueError(f"listener.security.protocol.map says nothing of the listener {name}, only of {known}")
        _check_told(name, address, told.get(name))
        found.append(Listener(name, by_name[name], address, told.pop(name, None)))
    if told:
        raise ValueError(f"advertised.listeners names {', '.join(told)}, but there is no such listener in listeners")
    return tuple(found)


def _check_told(name: str, address: Address, advertised: Address | None) -> None:
    if (advertised or address).host in EVERYWHERE:
        host = (advertised or address).host
        raise ValueError(
            f"clients of the listener {name} cannot be told {host}: give it another in advertised.listeners"
        )
    if advertised is not None and not advertised.port:
        raise ValueError(f"advertised.listeners gives the listener {name} port 0, which nobody can connect to")


def _protocols(text: str) -> Mapping[str, SecurityProtocol]:
    found: dict[str, SecurityProtocol] = {}
    for part in _parts(text):
        name, _, protocol = part.upper().partition(":")
        if name in found or not _NAME.fullmatch(name) or protocol not in SecurityProtocol.__members__:
            allowed = ", ".join(SecurityProtocol)
            raise ValueError(f"listener.security.protocol.map: {part!r} is not one name, a colon and one of {allowed}")
        found[name] = SecurityProtocol(protocol)
    return found


def _endpoints(setting: str, text: str) -> Iterator[tuple[str, Address]]:
    names, ports = set(), set()
    for part in _parts(text):
        name, sign, address = part.partition("://")
        name = name.upper()
        if not sign or not _NAME.fullmatch(name):
            raise ValueError(
                f"{setting}: {part!r} is no listener: write NAME://HOST:PORT, such as SSL://127.0.0.1:9093"
            )
        try:
            host, port = parse_address(f"{EVERYWHERE[0]}{address}" if address.startswith(":") else address)
        except BadAddress as failure:
            raise ValueError(f"{setting}: {failure}") from None
        if name in names:
            raise ValueError(f"{setting} has two listeners of the name {name}")
        if port and (host, port) in ports:
            raise ValueError(f"{setting} has two listeners at {address}")
        names.add(name)
        ports.add((host, port))
        yield name, Address(host, port)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
