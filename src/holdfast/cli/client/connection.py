"""A small Kafka client for the commands: one connection, one request at a time.

The broker that is asked is the one that was named; what it advertises to other clients is not looked at. That, and
waiting for several things at once in one event loop, is why the commands do not use `holdfast.client`, which finds
leaders and blocks its thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from holdfast.cli.client.errors import BrokerUnreachable
from holdfast.cli.terminal.talk import tell
from holdfast.client.errors import BrokerLost, NotKafka
from holdfast.errors import Unavailable
from holdfast.io.address import Address, parse_address
from holdfast.io.clock import SystemClock
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.errors import Malformed, UnsupportedVersion
from holdfast.protocol.header import decode_response_header, frame_request
from holdfast.protocol.messages import Message, decode_response, encode_request, request_class

T = TypeVar("T")

_CLIENT_ID = "holdfast"
_CONNECT_S = 10.0
_ANSWER_S = 30.0
_FRAME_SIZE_MAX = 256 << 20  # Bytes: no broker answers with more, so whoever does is none.
_PATIENCE_S = 30.0  # How long a broker may be away before a command gives up.
_PAUSE_S = 0.2
# By name: topic ids came with these versions, and one lookup less is one surprise less.
_NEWEST_USED = {Key.PRODUCE: 12, Key.FETCH: 12, Key.OFFSET_FETCH: 9}


class Client:
    """One connection to a broker."""

    def __init__(self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._address = address
        self._reader = reader
        self._writer = writer
        self._asked = 0
        self._newest: dict[int, int] = {}
        self._oldest: dict[int, int] = {}

    @classmethod
    async def connect(cls, address: Address) -> Client:
        """Connect, and learn which versions the broker speaks."""
        try:
            async with asyncio.timeout(_CONNECT_S):
                reader, writer = await asyncio.open_connection(*address)
        except (OSError, TimeoutError) as failure:
            raise BrokerUnreachable(str(address), failure) from None
        client = cls(address, reader, writer)
        try:
            await client._learn_versions()
        except BaseException:
            await client.close()
            raise
        return client

    async def _learn_versions(self) -> None:
        request = request_class(Key.API_VERSIONS)(client_software_name=_CLIENT_ID, client_software_version="1")
        version = APIS[Key.API_VERSIONS].max_version
        try:
            answer = await self._exchange(Key.API_VERSIONS, version, request)
        except Malformed as failure:
            raise NotKafka(str(self._address), failure) from None
        for each in answer.api_keys:
            self._oldest[each.api_key], self._newest[each.api_key] = each.min_version, each.max_version

    def version(self, key: Key) -> int:
        """The newest version of an API that both sides know."""
        ours = APIS[key]
        newest = min(self._newest.get(key, -1), _NEWEST_USED.get(key, ours.max_version))
        if newest < max(ours.min_version, self._oldest.get(key, 0)):
            raise UnsupportedVersion(ours.name, self._newest.get(key, -1), ours.min_version, ours.max_version)
        return newest

    async def ask(self, key: Key, request: Message, timeout_s: float = _ANSWER_S) -> Message:
        """Send a request and wait for its answer."""
        return await self._exchange(key, self.version(key), request, timeout_s)

    async def _exchange(self, key: Key, version: int, request: Message, timeout_s: float = _ANSWER_S) -> Message:
        self._asked += 1
        frame = frame_request(key, version, self._asked, _CLIENT_ID, encode_request(key, version, request))
        try:
            async with asyncio.timeout(timeout_s):
                self._writer.writelines(frame)
                await self._writer.drain()
                answer = await self._receive()
        except (OSError, EOFError, TimeoutError) as failure:  # An incomplete read is an EOFError.
            raise BrokerLost(str(self._address), failure) from None
        number, start = decode_response_header(key, version, answer)
        if number != self._asked:
            raise NotKafka(str(self._address), f"it answers request {number}, {self._asked} was asked")
        return decode_response(key, version, answer[start:])

    async def _receive(self) -> memoryview:
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        if not 0 <= size <= _FRAME_SIZE_MAX:
            raise NotKafka(str(self._address), f"it announces an answer of {size} bytes")
        return memoryview(await self._reader.readexactly(size))

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):  # The broker was quicker.
            await self._writer.wait_closed()


class Line:
    """A connection that is made again when it is lost, for commands that outlive a restart of the broker."""

    def __init__(self, address: Address, client: Client) -> None:
        self._address = address
        self._client: Client | None = client
        self._clock = SystemClock()

    async def do(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Do something, again and again while it says Unavailable. It must be such that a repeat does no harm."""
        given_up_at: float | None = None
        while True:
            try:
                self._client = self._client or await Client.connect(self._address)
                return await work(self._client)
            except Unavailable as failure:
                now = self._clock.monotonic()
                if given_up_at is None:
                    tell(f"holdfast: {failure}; trying again for {_PATIENCE_S:.0f} s")
                    given_up_at = now + _PATIENCE_S
                elif now >= given_up_at:
                    raise
                await self.close()
                await asyncio.sleep(_PAUSE_S)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        self._client = None


@asynccontextmanager
async def connected(bootstrap: str) -> AsyncIterator[Client]:
    """A client of the broker at this address."""
    client = await Client.connect(parse_address(bootstrap))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def lined(bootstrap: str) -> AsyncIterator[Line]:
    """The same, connected again when it is lost. A broker that is not there at first is a failure at once."""
    address = parse_address(bootstrap)
    line = Line(address, await Client.connect(address))
    try:
        yield line
    finally:
        await line.close()


def with_client(bootstrap: str, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
    """Connect, do one thing, and end."""

    async def run() -> T:
        async with connected(bootstrap) as client:
            return await work(client)

    return asyncio.run(run())
