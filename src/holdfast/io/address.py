"""Where something listens: HOST:PORT texts, and taking an address. Brokers, clients and metrics all use this one."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import NamedTuple

from holdfast.errors import Rejected


class Address(NamedTuple):
    """Where something listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class BadAddress(Rejected):
    """A text that names no host and port."""

    def __init__(self, text: str, *, one_of_several: bool = False) -> None:
        several = ", several with commas" if one_of_several else ""
        super().__init__(f"{text!r} is no address: write HOST:PORT, such as 127.0.0.1:9092{several}")
        self.text = text


def parse_address(text: str, *, one_of_several: bool = False) -> Address:
    """`host:port`, `[::1]:port`."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise BadAddress(text, one_of_several=one_of_several)
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def parse_addresses(text: str) -> tuple[Address, ...]:
    """`host:port,[::1]:port`."""
    return tuple(parse_address(each.strip(), one_of_several=True) for each in text.split(","))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it. Of a name other than localhost nobody knows."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


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
