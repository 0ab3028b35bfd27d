"""Connections to other brokers of the cluster, on the port that their clients use."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping, Sequence
from typing import Protocol

from holdfast.cluster.lives import BrokerLife
from holdfast.errors import Unavailable
from holdfast.io.address import Address
from holdfast.protocol.api import Key
from holdfast.security.protocol import SecurityProtocol
from holdfast.types import Buffer

_ANSWER_SIZE_MAX = 16 << 20
_CONNECT_S = 3.0


class PeerSilent(Unavailable):
    """Another broker cannot be asked now."""

    def __init__(self, life: BrokerLife, why: object) -> None:
        super().__init__(f"broker {life.broker} does not answer: {why}")


class PeerLink(Protocol):
    """How frames get to another life, and answers back."""

    async def exchange(self, life: BrokerLife, key: Key, frame: Sequence[Buffer], seconds: float) -> memoryview:
        """Send a frame, and wait for the answer, without its size. Raises PeerSilent. One at a time of each API."""


class TcpLink:
    """One connection for each life and API. Belongs to one event loop."""

    def __init__(self, protocols: Mapping[str, SecurityProtocol]) -> None:
        """`protocols` are those of our own listeners, in their order: others have the same ones."""
        self._protocols = protocols
        self._open: dict[tuple[int, Key], tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    async def exchange(self, life: BrokerLife, key: Key, frame: Sequence[Buffer], seconds: float) -> memoryview:
        try:
            return await asyncio.wait_for(self._exchange(life, key, frame), seconds)
        except BaseException as failure:  # An answer that comes later must not be taken for that of the next request.
            self._drop(life.life, key)
            if isinstance(failure, (OSError, asyncio.IncompleteReadError, TimeoutError)):
                raise PeerSilent(life, failure or type(failure).__name__) from None
            raise

    async def _exchange(self, life: BrokerLife, key: Key, frame: Sequence[Buffer]) -> memoryview:
        reader, writer = await self._connected(life, key)
        writer.write(b"".join(frame))
        await writer.drain()
        size = int.from_bytes(await reader.readexactly(4), "big", signed=True)
        if not 0 <= size <= _ANSWER_SIZE_MAX:
            raise OSError(f"it announces an answer of {size} bytes")
        return memoryview(await reader.readexactly(size))

    async def _connected(self, life: BrokerLife, key: Key) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        found = self._open.get((life.life, key))
        if found is None:
            address, context = self._where(life)
            opening = asyncio.open_connection(*address, ssl=context)
            found = self._open[life.life, key] = await asyncio.wait_for(opening, _CONNECT_S)
        return found

    def _where(self, life: BrokerLife) -> tuple[Address, ssl.SSLContext | None]:
        for name, protocol in self._protocols.items():
            if name in life.listeners:
                return life.listeners[name], _unnamed() if protocol.has_tls else None
        raise PeerSilent(life, f"it has none of the listeners {', '.join(self._protocols)}")

    def _drop(self, life: int, key: Key) -> None:
        found = self._open.pop((life, key), None)
        if found is not None:
            with contextlib.suppress(RuntimeError):
                found[1].transport.abort()

    def keep(self, lives: set[int]) -> None:
        """Close connections to lives that are over."""
        for life, key in [each for each in self._open if each[0] not in lives]:
            self._drop(life, key)

    def close(self) -> None:
        self.keep(set())


def _unnamed() -> ssl.SSLContext:
    """TLS with whoever it is: each message proves by itself who it is from (`proof`)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
