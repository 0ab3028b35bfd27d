"""HOST:PORT texts."""

from __future__ import annotations

import socket
from typing import NamedTuple

from holdfast.errors import Rejected


def bind(address: Address, otherwise: str = "") -> socket.socket:
    """Take the address; port 0 takes any free one. Nobody can connect before somebody listens.

    `otherwise` says what to do when it is taken.
    """
    bound = socket.socket(socket.AF_INET6 if ":" in address.host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
        return bound
    except OSError as failure:
        bound.close()
        todo = f"; {otherwise}" if otherwise else ""
        raise Rejected(f"cannot listen on {address}: {failure.strerror or failure}{todo}") from None


class Address(NamedTuple):
    """Where something listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`host:port`, `[::1]:port`."""
    host, sign, port = text.rpartition(":")
    if not sign or not host or not port.isdecimal() or int(port) > 65535:
        raise Rejected(f"{text!r} is no address: write HOST:PORT, such as 127.0.0.1:9092")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))
