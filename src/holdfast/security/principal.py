"""Who somebody is, and who is at the other end of a connection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Final

from holdfast.errors import Rejected

USER: Final = "User"  # The only kind there is.


@dataclass(frozen=True, slots=True, order=True)
class Principal:
    """A user. Written as Kafka does: `User:alice`."""

    name: str

    def __str__(self) -> str:
        return f"{USER}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> Principal:
        """Of `User:alice`; everything behind the first colon is the name, also other colons, `=` and commas."""
        kind, colon, name = text.partition(":")
        if not colon or not name:
            raise Rejected(f"{text!r} is no principal: write {USER}:NAME")
        if kind != USER:
            raise Rejected(f"{text!r} is of kind {kind!r}: only {USER}: principals exist")
        return cls(name)


ANONYMOUS: Final = Principal("ANONYMOUS")  # Whoever did not say who they are.


@dataclass(frozen=True, slots=True)
class Session:
    """Who is at the other end of a connection. A new login replaces it whole."""

    principal: Principal
    host: str  # The client's address, as `host_of` writes it.
    listener: str
    mechanism: str = ""  # Of SASL; empty where the listener asks for none.
    until: float = math.inf  # By `Clock.boottime`: it goes on while the machine sleeps.

    def is_over(self, boottime: float) -> bool:
        return boottime >= self.until


def host_of(text: str) -> str:
    """An address in the one form in which sessions and rules are compared: `::ffff:10.1.2.3` is 10.1.2.3.

    What is no address stays as it is: no session has it.
    """
    if text == "*":  # Most rules.
        return text
    try:
        address = ip_address(text.partition("%")[0])  # Behind it: by which interface.
    except ValueError:
        return text
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)
