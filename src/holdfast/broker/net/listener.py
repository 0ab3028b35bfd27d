"""A listener that is open: a socket, and what the connections through it have in common."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.broker.listeners import Listener, SecurityProtocol
from holdfast.errors import Rejected
from holdfast.io.address import Address, bind


class OpenListener(NamedTuple):
    """Bound, so that its port is known; connections are taken when a server listens."""

    name: str
    protocol: SecurityProtocol
    bound: socket.socket
    told: Address  # Where its clients are told to find this broker.

    @property
    def here(self) -> Address:
        return Address(*self.bound.getsockname()[:2])

    @classmethod
    def plain(cls, bound: socket.socket, told: Address | None = None) -> OpenListener:
        """One for everybody who can reach it."""
        here = Address(*bound.getsockname()[:2])
        return cls(SecurityProtocol.PLAINTEXT.value, SecurityProtocol.PLAINTEXT, bound, told or here)


def open_listeners(wanted: Sequence[Listener], otherwise: str) -> list[OpenListener]:
    """All of them, or none; `otherwise` says what to do when an address is taken."""
    opened: list[OpenListener] = []
    try:
        for name, protocol, address, advertised in wanted:
            if protocol is not SecurityProtocol.PLAINTEXT:
                raise Rejected(f"the listener {name} wants {protocol}, which is not served yet: PLAINTEXT is")
            bound = bind(address, otherwise)
            told = advertised or Address(address.host, bound.getsockname()[1])
            opened.append(OpenListener(name, protocol, bound, told))
    except BaseException:
        for each in opened:
            each.bound.close()
        raise
    return opened
