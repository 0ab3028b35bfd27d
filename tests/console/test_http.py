"""The port itself: what is no request, what is too much of one, who leaves, and what comes one behind the other."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.console.http import CONNECTIONS_MAX, listening
from holdfast.console.link import BODY_SIZE_MAX, HttpAnswer, HttpRequest

GET = b"GET /a%20b?c=d HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def echo(request: HttpRequest) -> HttpAnswer:
    return HttpAnswer(
        200, "text/plain", f"{request.method} {request.path} {dict(request.query)} {len(request.body)}".encode()
    )


@asynccontextmanager
async def served(handle: Callable[[HttpRequest], Awaitable[HttpAnswer]] = echo) -> AsyncIterator[int]:
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    async with listening(handle, bound):
        yield bound.getsockname()[1]


async def said(port: int, data: bytes) -> bytes:
    """All that is answered to some bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.suppress(OSError):
        writer.write(data)
        await writer.drain()
        return await asyncio.wait_for(reader.read(), 20)
    return b""


def run(test: Awaitable[None]) -> None:
    async def whole() -> None:
        await test

    asyncio.run(whole())


def test_requests_follow_each_other_on_one_connection() -> None:
    """V5: also those that are sent before the first is answered."""

    async def test() -> None:
        async with served() as port:
            last = b"GET /z HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            answers = await said(port, GET + GET + last)
            assert answers.count(b"HTTP/1.1 200") == 3
            assert answers.count(b"GET /a b {'c': 'd'} 0") == 2

    run(test())


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, x\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 40_000 + b"\r\n\r\n", 431),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (BODY_SIZE_MAX + 1)
            + b"x" * (BODY_SIZE_MAX + 1),
            413,
        ),
        (b"GET /?" + b"&".join(b"a%d=1" % n for n in range(60)) + b" HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET //[x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ],
)
def test_what_has_no_meaning_or_two_is_refused_and_ends_the_connection(data: bytes, status: int) -> None:
    """V2: no request is smuggled behind another."""

    async def test() -> None:
        async with served() as port:
            answer = await said(port, data + GET)
            assert answer.startswith(b"HTTP/1.1 %d" % status), answer[:80]
            assert answer.count(b"HTTP/1.1") == 1

    run(test())


def test_chunks_and_lengths_mean_one_body() -> None:
    """V2: chunks win over a length, and what follows is the next request."""

    async def test() -> None:
        async with served() as port:
            both = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            answer = await said(port, both + b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert b"POST / {} 3" in answer
            assert b"GET /last {} 0" in answer

    run(test())


def test_who_leaves_ends_the_work() -> None:
    """V5: a scan stops when its visitor goes."""

    async def test() -> None:
        ended = asyncio.Event()

        async def pieces() -> AsyncGenerator[bytes, None]:
            try:
                while True:
                    yield b"x"
                    await asyncio.sleep(3600)
            finally:
                ended.set()

        async def handle(_request: HttpRequest) -> HttpAnswer:
            return HttpAnswer(200, "text/plain", pieces())

        async with served(handle) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(GET)
            await reader.readuntil(b"\r\n\r\n")
            writer.close()
            await asyncio.wait_for(ended.wait(), 10)

    run(test())


def test_the_most_silent_connection_makes_room() -> None:
    """V5."""

    async def test() -> None:
        async with served() as port:
            open_ = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS_MAX)]
            await asyncio.sleep(0.2)
            assert (await said(port, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))).startswith(
                b"HTTP/1.1 200"
            )
            assert await asyncio.wait_for(open_[0][0].read(), 10) == b""
            for _, writer in open_:
                writer.close()

    run(test())


def test_a_mistake_is_an_answer() -> None:
    """V5: and the port goes on."""

    async def broken(request: HttpRequest) -> HttpAnswer:
        raise ValueError(request.path)

    async def test() -> None:
        async with served(broken) as port:
            for _ in range(2):
                answer = await said(port, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                assert answer.startswith(b"HTTP/1.1 500")
                assert b"a b" not in answer

    run(test())


PIECES = st.sampled_from(
    [
        GET,
        b"POST / HTTP/1.1\r\n",
        b"Host: a\r\n",
        b"Content-Length: 3\r\n",
        b"\r\n",
        b"\n",
        b"\x00",
        b"abc",
        b"GET ",
        b"%ff%00",
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(PIECES, st.binary(max_size=40)), max_size=12))
def test_no_bytes_stop_the_port(pieces: list[bytes]) -> None:
    """V2: after any bytes the next connection is answered."""

    async def test() -> None:
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.suppress(OSError):
                writer.write(b"".join(pieces))
                writer.write_eof()
                await asyncio.wait_for(reader.read(), 10)
            writer.close()
            last = await said(port, b"GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert b"GET /last" in last

    run(test())
