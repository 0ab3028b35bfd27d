"""A listener with SASL and those who do not log in: their time, their number, and their memory."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from holdfast.broker.listeners import Listener
from holdfast.broker.net.listener import open_listeners
from holdfast.broker.net.request import Done, Request
from holdfast.broker.net.server import ConnectionLimits, Server
from holdfast.broker.settings import BrokerSettings
from holdfast.cluster.auth import Auth
from holdfast.errors import Rejected
from holdfast.io.address import Address
from holdfast.io.clock import SystemClock
from holdfast.security.protocol import SecurityProtocol
from holdfast.security.secret import Secret
from holdfast.types import Buffer

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
HANDSHAKE = b"\x00\x11\x00\x01\x00\x00\x00\x01\xff\xff\x00\x05PLAIN"
TOKEN = b"\x00alice\x00secret"
AUTHENTICATE = b"\x00\x24\x00\x01\x00\x00\x00\x02\xff\xff" + struct.pack(">i", len(TOKEN)) + TOKEN
ASKED = b"\x00\x03\x00\x00\x00\x00\x00\x03\xff\xff"
PORT = Listener("INSIDE", SecurityProtocol.SASL_PLAINTEXT, Address("127.0.0.1", 0), None)


class Names:
    """Answers each request with the name of who asks."""

    def start_produce(self, request: Request, done: Done) -> bool:
        del request, done
        return False

    async def handle(self, request: Request) -> Sequence[Buffer]:
        name = str(request.session.principal).encode()
        return [len(name).to_bytes(4, "big"), name]


def settings(overrides: Mapping[str, str | Secret] | None = None, **given: str | int | Secret) -> BrokerSettings:
    words: dict[str, object] = {
        "listeners": "INSIDE://127.0.0.1:0",
        "listener_security_protocol_map": "INSIDE:SASL_PLAINTEXT",
        "sasl_enabled_mechanisms": "PLAIN",
        "sasl_jaas_config": Secret(f'{MODULE} user_alice="secret";'),
    }
    return BrokerSettings(**{**words, **given, "listener_overrides": overrides or {}})  # type: ignore[arg-type]


@asynccontextmanager
async def serving(limits: ConnectionLimits) -> AsyncIterator[tuple[Server, int]]:
    listeners = open_listeners([PORT], settings().words_of, "")
    server = Server(Names(), limits, SystemClock())
    server.users = lambda: Auth("c")
    await server.listen(listeners)
    try:
        yield server, listeners[0].here.port
    finally:
        await server.stop(1)


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))  # type: ignore[arg-type]


async def ask(link: tuple[asyncio.StreamReader, asyncio.StreamWriter], frame: bytes) -> bytes:
    reader, writer = link
    writer.write(len(frame).to_bytes(4, "big") + frame)
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


async def log_in(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    link = await asyncio.open_connection("127.0.0.1", port)
    await ask(link, HANDSHAKE)
    await ask(link, AUTHENTICATE)
    return link


def test_who_does_not_log_in_in_time_is_closed() -> None:
    """X4: silent, in the middle of a frame, between two of them; those who did stay."""

    async def test() -> None:
        async with serving(ConnectionLimits(login_ms_max=300)) as (server, port):
            proven = await log_in(port)
            for sent in (b"", b"\x00\x00", len(HANDSHAKE).to_bytes(4, "big") + HANDSHAKE):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(sent)
                with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                    await reader.readexactly(1000)
            assert server.closed["sasl"] == 3
            assert await ask(proven, ASKED) == b"User:alice"
            proven[1].close()

    run(test)


def test_a_quarter_of_the_connections_may_be_strangers() -> None:
    """X4: the oldest of them makes room; those who have logged in do not."""

    async def test() -> None:
        async with serving(ConnectionLimits(connections_max=16)) as (server, port):
            proven = [await log_in(port) for _ in range(5)]
            strangers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(9)]
            while server.closed["sasl"] < 5:
                await asyncio.sleep(0.01)
            for reader, _ in strangers[:5]:
                with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                    await reader.readexactly(1)
            assert server.connection_count == 9
            for each in proven:
                assert await ask(each, ASKED) == b"User:alice"
            await ask(strangers[-1], HANDSHAKE)
            for _, writer in [*proven, *strangers]:
                writer.close()

    run(test)


def test_nothing_is_read_behind_a_token_that_is_looked_at() -> None:
    """X4: what a stranger sends behind it stays in the socket, and is gone with the connection."""

    async def test() -> None:
        async with serving(ConnectionLimits(failed_login_ms=500)) as (server, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            wrong = AUTHENTICATE.replace(b"secret", b"wrong!")
            for frame in (HANDSHAKE, wrong):
                writer.write(len(frame).to_bytes(4, "big") + frame)
            writer.write((200_000).to_bytes(4, "big") + bytes(200_000))
            await reader.readexactly(10)
            await asyncio.sleep(0.2)
            assert server.requests.size < 150_000
            writer.close()

    run(test)


def test_without_the_store_nobody_is_told_that_a_password_is_wrong() -> None:
    """X4: while users are not known, a login is closed, to be tried again, and not failed."""

    async def test() -> None:
        async with serving(ConnectionLimits()) as (server, port):
            server.users = lambda: None
            link = await asyncio.open_connection("127.0.0.1", port)
            await ask(link, HANDSHAKE)
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await ask(link, AUTHENTICATE)
            link[1].close()

    run(test)


def test_what_is_set_for_a_mechanism_counts_before_what_is_set_for_all() -> None:
    """X4: mechanism, then listener, then broker."""
    made = settings(
        {
            "listener.name.inside.connections.max.reauth.ms": "2",
            "listener.name.inside.plain.connections.max.reauth.ms": "3",
        },
        connections_max_reauth_ms=1,
    )
    word = "connections.max.reauth.ms"
    asked = [("OTHER", ""), ("INSIDE", ""), ("INSIDE", "SCRAM-SHA-256"), ("INSIDE", "PLAIN")]
    assert [made.words_of(*each)[word] for each in asked] == ["1", "2", "2", "3"]


@pytest.mark.parametrize(
    ("overrides", "given", "said"),
    [
        ({}, {"sasl_enabled_mechanisms": ""}, "sasl.enabled.mechanisms"),
        ({}, {"sasl_enabled_mechanisms": "GSSAPI"}, "there is no GSSAPI"),
        ({}, {"sasl_enabled_mechanisms": "SCRAM-SHA-256"}, "sasl.jaas.config"),
        ({}, {"sasl_server_callback_handler_class": "com.example.Mine"}, "no classes are loaded"),
        ({}, {"sasl_enabled_mechanisms": "PLAIN,OAUTHBEARER"}, "jwks.endpoint.url"),
        ({"listener.name.inside.plain.sasl.jaas.config": Secret("x")}, {}, "sasl.jaas.config"),
    ],
)
def test_what_cannot_be_taken_is_refused_at_the_start(
    overrides: dict[str, str | Secret], given: dict[str, str], said: str
) -> None:
    """X4: with the name of the setting, and never with a secret."""
    with pytest.raises(Rejected, match=said) as failure:
        open_listeners([PORT], settings(overrides, **given).words_of, "")
    assert "alice" not in str(failure.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("listener.name.inside.plain.sasl.enabled.mechanisms", "PLAIN"),
        ("listener.name.inside.connections.max.reauth.ms", "-1"),
        ("listener.name.inside.sasl.server.max.receive.size", "0"),
        ("listener.name.inside.sasl.kerberos.service.name", "x"),
    ],
)
def test_overrides_that_make_no_sense_are_refused(name: str, value: str) -> None:
    """X4: none is accepted and ignored."""
    with pytest.raises(ValueError, match=name):
        settings({name: value})
