"""Connections as streams: those who are slow with their handshake lock nobody out."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from pathlib import Path

from holdfast.io.address import Address, bind
from holdfast.io.streams import SHAKING_MAX, streams
from holdfast.testing.certificates import AuthorityFolder


def contexts(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The port's, and that of a client who trusts it."""
    authority = AuthorityFolder(folder)
    ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ours.load_cert_chain(authority.signed("port"))
    return ours, ssl.create_default_context(cafile=str(authority.certificate))


async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"served")
    writer.close()


def test_the_silent_make_room_for_those_who_shake_hands(tmp_path: Path) -> None:
    """X4, X8: whoever opens connections and says nothing keeps nobody from a port; the oldest of them is closed."""
    ours, theirs = contexts(tmp_path)

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


def test_a_first_message_that_is_there_before_anybody_looks_is_not_lost(tmp_path: Path) -> None:
    """X8: on a busy loop a connection and its handshake's first message are found together."""
    ours, theirs = contexts(tmp_path)

    def ask(port: int, began: threading.Event) -> bytes:
        with socket.create_connection(("127.0.0.1", port), 20) as plain:
            began.set()
            with theirs.wrap_socket(plain, server_hostname="localhost") as link:
                return link.recv(100)

    async def test() -> None:
        bound = bind(Address("127.0.0.1", 0))
        async with streams(bound, serve, lambda: ours):
            for _ in range(5):
                began = threading.Event()
                asked = asyncio.ensure_future(asyncio.to_thread(ask, bound.getsockname()[1], began))
                await asyncio.sleep(0)
                began.wait(20)  # The loop stands still meanwhile,
                time.sleep(0.05)  # and a little longer.
                assert await asked == b"served"

    asyncio.run(asyncio.wait_for(test(), 60))
