"""The link that speaks TLS between a socket and a connection: sessions, limits, and clients that misbehave."""

from __future__ import annotations

import asyncio
import random
import resource
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.broker.net.listener import OpenListener
from holdfast.broker.net.request import Done, Request
from holdfast.broker.net.server import ConnectionLimits, Server
from holdfast.io.address import Address, bind
from holdfast.io.clock import SystemClock
from holdfast.security.mapping import PrincipalMapping
from holdfast.security.principal import Principal, Session
from holdfast.security.protocol import SecurityProtocol
from holdfast.security.tls import TlsSettings, WatchedContext
from holdfast.testing.certificates import AuthorityFolder
from holdfast.types import Buffer

MIB = 1 << 20
ASKED = bytes.fromhex("0000000e 0012 0000 00000001 ffff 00000000")  # ApiVersions 0, and four bytes that say how much.


class Answers:
    """Answers with as many bytes as a request asks for, and remembers who asked."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.content = random.Random(1).randbytes(64 * MIB)

    def start_produce(self, request: Request, done: Done) -> bool:
        del request, done
        return False

    async def handle(self, request: Request) -> Sequence[Buffer]:
        self.sessions.append(request.session)
        size = int.from_bytes(request.frame[-4:], "big")
        return [size.to_bytes(4, "big"), memoryview(self.content)[:size]]


class Place:
    """A server with one listener, and the authority that its clients trust."""

    def __init__(self, folder: Path, words: dict[str, str], limits: ConnectionLimits) -> None:
        self.authority = AuthorityFolder(folder)
        words = {"ssl.keystore.location": str(self.authority.signed("broker", "CN=localhost"))} | words
        words |= {"ssl.truststore.location": str(self.authority.certificate)}
        self.bound = bind(Address("127.0.0.1", 0))
        self.port: int = self.bound.getsockname()[1]
        rules = PrincipalMapping.parse("RULE:^CN=(.*?),OU=Services.*$/$1/L,DEFAULT")
        tls = WatchedContext("SSL", TlsSettings.parse(words), SystemClock())
        self.listener = OpenListener("SSL", SecurityProtocol.SSL, self.bound, Address("x", 1), tls, rules)
        self.work = Answers()
        self.server = Server(self.work, limits, SystemClock())

    def context(self, certificate: Path | None = None) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=str(self.authority.certificate))
        if certificate is not None:
            made.load_cert_chain(certificate)
        return made

    async def connect(self, context: ssl.SSLContext | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        given: dict[str, Any] = {"ssl": context or self.context(), "server_hostname": "localhost"}
        return await asyncio.open_connection("127.0.0.1", self.port, **given)

    async def until(self, condition: Callable[[], bool], seconds: float = 20) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)


@asynccontextmanager
async def serving(folder: Path, *, limits: ConnectionLimits | None = None, **words: str) -> AsyncIterator[Place]:
    given = {name.replace("_", "."): value for name, value in words.items()}
    place = Place(folder, given, limits or ConnectionLimits())
    await place.server.listen([place.listener])
    try:
        yield place
    finally:
        await place.server.stop(1)


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 100))  # type: ignore[arg-type]


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> bytes:
    writer.write(ASKED[:-4] + size.to_bytes(4, "big"))
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def test_a_session_has_the_name_in_the_certificate(tmp_path: Path) -> None:
    """X2: by the rules, or as it is; without a certificate it is anonymous."""

    async def test() -> None:
        async with serving(tmp_path, ssl_client_auth="requested") as place:
            shown = {
                "CN=Reader,OU=Services,O=Tests,C=DE": "reader",
                r"CN=J\=K,O=A\, B,C=DE": r"CN=J\=K,O=A\, B,C=DE",
                None: "ANONYMOUS",
            }
            for number, subject in enumerate(shown):
                certificate = place.authority.signed(f"client{number}", subject) if subject else None
                reader, writer = await place.connect(place.context(certificate))
                assert await ask(reader, writer, 5) == place.work.content[:5]
                writer.close()
            assert place.work.sessions == [Session(Principal(name), "127.0.0.1", "SSL") for name in shown.values()]

    run(test)


def test_an_answer_is_encrypted_as_it_is_taken(tmp_path: Path) -> None:
    """X2: one that nobody takes stays what it is, counted; when it is taken it comes whole, and requests go on."""

    async def test() -> None:
        async with serving(tmp_path) as place:
            reader, writer = await place.connect()
            await ask(reader, writer, 1)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            writer.write(ASKED[:-4] + len(place.work.content).to_bytes(4, "big"))
            await place.until(lambda: place.server.answers.size > 32 * MIB)
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 24 << 10  # KiB
            size = int.from_bytes(await reader.readexactly(4), "big")
            assert await reader.readexactly(size) == place.work.content
            assert await ask(reader, writer, 3) == place.work.content[:3]
            await place.until(lambda: place.server.answers.size == 0)
            writer.close()

    run(test)


def test_a_large_request_is_received_whole(tmp_path: Path) -> None:
    """X2: decrypted into its own buffer, with others before and behind it in the same bytes."""

    async def test() -> None:
        async with serving(tmp_path) as place:
            reader, writer = await place.connect()
            large = ASKED[4:-4] + bytes(5 * MIB) + (7).to_bytes(4, "big")
            small = ASKED[:-4] + (2).to_bytes(4, "big")
            writer.write(small + len(large).to_bytes(4, "big") + large + small)
            assert [await _frame(reader) for _ in range(3)] == [place.work.content[:size] for size in (2, 7, 2)]
            await place.until(lambda: place.server.requests.size == 0)
            writer.close()

    run(test)


def test_requests_wait_while_nobody_reads(tmp_path: Path) -> None:
    """X2: behind one that is more than a connection may hold, in the same bytes: all are answered, in order."""

    async def test() -> None:
        async with serving(tmp_path, limits=ConnectionLimits(connection_size_max=1_000)) as place:
            reader, writer = await place.connect()
            sizes = [number % 250 for number in range(1_000)]
            for number, size in enumerate(sizes):
                body = ASKED[4:-4] + bytes(0 if number % 100 else 100_000) + size.to_bytes(4, "big")
                writer.write(len(body).to_bytes(4, "big") + body)
            assert [len(await _frame(reader)) for _ in sizes] == sizes
            writer.close()

    run(test)


async def _frame(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def test_a_handshake_has_its_time(tmp_path: Path) -> None:
    """X4: who says nothing, or never ends, is closed; who is through is not."""

    async def test() -> None:
        async with serving(tmp_path, limits=ConnectionLimits(login_ms_max=300)) as place:
            reader, writer = await place.connect()
            silent, _ = await asyncio.open_connection("127.0.0.1", place.port)
            half, sender = await asyncio.open_connection("127.0.0.1", place.port)
            sender.write(bytes.fromhex("16030100ff"))
            await place.until(lambda: place.server.connection_count == 3)
            for each in (silent, half):
                with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                    await asyncio.wait_for(each.readexactly(1), 20)
            assert await ask(reader, writer, 1)
            assert place.server.connection_count == 1
            writer.close()

    run(test)


def test_those_without_a_session_leave_room(tmp_path: Path) -> None:
    """X4: at most a quarter of all connections may be unproven; the oldest of them makes room."""

    async def test() -> None:
        async with serving(tmp_path, limits=ConnectionLimits(connections_max=16)) as place:
            silent = []
            for _ in range(40):
                silent.append(socket.create_connection(("127.0.0.1", place.port), 5))
                await asyncio.sleep(0.005)  # Each is taken, and the one that makes room is gone.
            reader, writer = await place.connect()
            assert await ask(reader, writer, 1)
            assert place.server.connection_count <= 5
            for each in silent:
                each.close()
            await place.until(lambda: place.server.connection_count == 1)
            writer.close()

    run(test)


def _hello(place: Place) -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    made = place.context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        made.do_handshake()
    return outgoing.read()


def test_what_is_no_tls_does_no_harm(tmp_path: Path) -> None:
    """X4: bytes at random, hellos that were changed or cut, records that were changed after the handshake."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)

    async def strike(place: Place, data: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
        writer.write(data)
        if chance.random() < 0.5:
            writer.write_eof()
        await asyncio.wait([asyncio.ensure_future(reader.read(MIB))], timeout=0.01)
        writer.transport.abort()

    async def test() -> None:
        async with serving(tmp_path) as place:
            good = _hello(place)
            reader, writer = await place.connect()
            sizes = []
            for turn in range(3):
                for _ in range(200):
                    data = bytearray(chance.choice([good, chance.randbytes(chance.randrange(1, 2000))]))
                    for _ in range(chance.randrange(4)):
                        data[chance.randrange(len(data))] = chance.randrange(256)
                    await strike(place, bytes(data[: chance.randrange(len(data) + 1)]))
                await place.until(lambda: place.server.connection_count == 1)
                assert await ask(reader, writer, turn + 1) == place.work.content[: turn + 1]
                sizes.append(_resident())
            assert sizes[2] - sizes[1] < 4 * MIB, f"it grows: {sizes}"
            assert place.server.closed["tls"] > 100
            writer.close()

    run(test)


def test_a_changed_record_ends_its_connection_only(tmp_path: Path) -> None:
    """X4: nothing of it is worked on."""

    async def test() -> None:
        async with serving(tmp_path) as place:
            reader, writer = await place.connect()
            with socket.create_connection(("127.0.0.1", place.port), 20) as raw:
                raw.setblocking(False)
                incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                made = place.context().wrap_bio(incoming, outgoing, server_hostname="localhost")
                loop = asyncio.get_running_loop()
                while True:
                    try:
                        made.do_handshake()
                        break
                    except ssl.SSLWantReadError:
                        await loop.sock_sendall(raw, outgoing.read())
                        incoming.write(await loop.sock_recv(raw, 1 << 16))
                await loop.sock_sendall(raw, outgoing.read())
                made.write(ASKED)
                record = bytearray(outgoing.read())
                record[len(record) // 2] ^= 1
                await loop.sock_sendall(raw, bytes(record))
                deadline = time.monotonic() + 20
                while await loop.sock_recv(raw, 1 << 16):
                    assert time.monotonic() < deadline
            assert place.work.sessions == []
            assert await ask(reader, writer, 1)
            writer.close()

    run(test)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
