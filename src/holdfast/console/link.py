"""One connection of HTTP/1.1: bytes to requests, answers to bytes.

`h11` says what bytes mean, and refuses what has two meanings. A request has a few seconds, a few kilobytes, and a body
of a few more; a piece of an answer has to be taken in time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import h11

_HEAD_SIZE_MAX = 16 << 10
BODY_SIZE_MAX: Final = 256 << 10
_ARRIVE_S = 10.0  # For a request from its first byte on.
_IDLE_S = 60.0  # Between two requests.
_TAKE_S = 30.0  # For a piece of an answer.
_PIECE_SIZE = 64 << 10  # Of an answer.
_READ_SIZE = 8 << 10

SAFE: Final = (
    ("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


class HttpRequest(NamedTuple):
    """One request."""

    method: str
    path: str  # Decoded.
    query: Mapping[str, str]
    headers: Mapping[str, str]  # Names in lower case.
    body: bytes
    peer: str
    certificate: bytes | None  # DER.
    is_private: bool  # It came through TLS.


class HttpAnswer(NamedTuple):
    """What it is answered: bytes, or pieces as they come."""

    status: int
    content_type: str
    body: bytes | AsyncGenerator[bytes, None]
    headers: tuple[tuple[str, str], ...] = ()


class HttpLink:
    """One connection: bytes to requests, answers to bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._state = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_SIZE_MAX)
        link = writer.get_extra_info("ssl_object")
        self._is_private = link is not None
        self._certificate = link.getpeercert(binary_form=True) if link is not None else None
        self._peer = str(writer.get_extra_info("peername")[0])

    async def request(self) -> HttpRequest | None:
        """The next one; None if they have closed. Raises h11.RemoteProtocolError for what is none."""
        if not self._state.trailing_data[0]:
            async with asyncio.timeout(_IDLE_S):
                self._state.receive_data(await self._reader.read(_READ_SIZE))
        async with asyncio.timeout(_ARRIVE_S):
            head = await self._event()
            if not isinstance(head, h11.Request):
                return None
            body = bytearray()
            while isinstance(event := await self._event(), h11.Data):
                body += event.data
                if len(body) > BODY_SIZE_MAX:
                    raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
        try:
            target = urlsplit(head.target.decode("latin-1"))
            query = dict(parse_qsl(target.query, keep_blank_values=True, max_num_fields=50))
        except ValueError as failure:
            raise h11.RemoteProtocolError(f"the address is none: {failure}") from None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        shown = self._peer, self._certificate, self._is_private
        return HttpRequest(head.method.decode(), unquote(target.path), query, headers, bytes(body), *shown)

    async def _event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._state.next_event()) is h11.NEED_DATA:
            self._state.receive_data(await self._reader.read(_READ_SIZE))
        return event

    async def left(self) -> None:
        """Comes back when they are gone. What they send meanwhile, at most one piece, is kept for the next turn."""
        data = await self._reader.read(_READ_SIZE)
        if data:
            self._state.receive_data(data)
            await asyncio.Event().wait()

    async def refuse(self, failure: h11.RemoteProtocolError) -> None:
        text = f"{failure}\n".encode()
        await self.send(HttpAnswer(failure.error_status_hint, "text/plain; charset=utf-8", text))

    async def send(self, answer: HttpAnswer) -> None:
        sized = [("Content-Length", str(len(answer.body)))] if isinstance(answer.body, bytes) else []
        kept = [] if any(name == "Cache-Control" for name, _ in answer.headers) else [("Cache-Control", "no-store")]
        headers = [("Content-Type", answer.content_type), *sized, *kept, *SAFE, *answer.headers]
        head = self._state.send(h11.Response(status_code=answer.status, headers=headers)) or b""
        if isinstance(answer.body, bytes):
            await self._put(head + (self._state.send(h11.Data(data=answer.body)) or b""))
        else:
            async with contextlib.aclosing(answer.body) as pieces:
                await self._put(head)
                async for piece in pieces:
                    await self._put(self._state.send(h11.Data(data=piece)) or b"")
        await self._put(self._state.send(h11.EndOfMessage()) or b"")

    async def _put(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE_SIZE):
            self._writer.write(data[start : start + _PIECE_SIZE])
            async with asyncio.timeout(_TAKE_S):  # `wait_for` can miss that it was cancelled, before Python 3.12.
                await self._writer.drain()

    def begin_next(self) -> bool:
        """Whether the connection is good for another request."""
        if self._state.our_state is h11.DONE and self._state.their_state is h11.DONE:
            self._state.start_next_cycle()
            return True
        return False
