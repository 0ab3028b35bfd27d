"""Connections as streams: those who are slow with their handshake lock nobody out."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

from holdfast.io.address import Address, bind
from holdfast.io.streams import SHAKING_MAX, streams
from holdfast.testing.certificates import AuthorityFolder


def test_the_silent_make_room_for_those_who_shake_hands(tmp_path: Path) -> None:
    """X4, X8: whoever opens connections and says nothing keeps nobody from a port; the oldest of them is closed."""
    authority = AuthorityFolder(tmp_path)
    ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ours.load_cert_chain(authority.signed("port"))
    theirs = ssl.create_default_context(cafile=str(authority.certificate))

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"served")
        writer.close()

    async def test() -> None:
        bound = bind(Address("127.0.0.1", 0))
        port = bound.getsockname()[1]
        async with streams(bound, serve, lambda: ours):
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(SHAKING_MAX)]
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=theirs, server_hostname="localhost")
            assert await reader.read() == b"served"
            assert await silent[0][0].read() == b""
            for each in (writer, *(writer for _, writer in silent)):
                each.transport.abort()

    asyncio.run(asyncio.wait_for(test(), 60))
