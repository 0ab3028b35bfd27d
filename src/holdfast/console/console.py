"""A request's way: the host it was sent to, who sent it, the route, and then JSON, a stream of it, or the shell."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from holdfast.console.answers import (
    NOT_OURS,
    as_json,
    as_text,
    body_of,
    check,
    check_same_origin,
    claim_of,
    failed,
    is_ours,
    page_of,
)
from holdfast.console.changes import CHANGES, ChangeAsked, make
from holdfast.console.files import Files
from holdfast.console.link import HttpAnswer, HttpRequest
from holdfast.console.parts import PageNotFound, Parts
from holdfast.console.routes import PageRight, Route, Visit
from holdfast.console.table import ROUTES
from holdfast.console.visit import Visitor, Visits
from holdfast.errors import HoldfastError, Rejected, Unavailable
from holdfast.security.errors import LoginFailed
from holdfast.security.rules import Operation, ResourceType

STREAMS_MAX: Final = 16
SCANS_MAX: Final = 4
EVERY_S: Final = 1.0
EVERY_S_MAX: Final = 5.0  # Also for what has waited for others, and has cost nothing.
SHARE_MAX: Final = 0.02  # Of a core, for one stream: what costs more comes less often.
_SILENT_S = 15.0  # Then a stream says that it is still there.
_PATTERNS = [(route.pattern, route) for route in ROUTES]


class Console:
    """Answers requests."""

    def __init__(self, parts: Parts, visits: Visits, files: Files, names: frozenset[str]) -> None:
        """`names` are what it may be called besides addresses: the Host of a request must be one of them."""
        self._parts = parts
        self._visits = visits
        self._files = files
        self._names = names
        self._streams = 0
        self._scans = 0

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        if not is_ours(request.headers.get("host", ""), self._names):
            return NOT_OURS
        if request.path.startswith("/static/") and request.method == "GET":
            return self._files.answer(request.path)
        try:
            return await self._route(request)
        except HoldfastError as failure:
            return failed(failure)

    async def _route(self, request: HttpRequest) -> HttpAnswer:
        accept = request.headers.get("accept", "")
        if request.path in ("/login", "/logout") and request.method == "POST":
            return await self._log_in_or_out(request)
        if request.method == "POST":
            return await self._change(request)
        if request.method != "GET":
            return as_text(405, "GET shows, POST changes: there is nothing else")
        found = _find(request.path)
        if "text/html" in accept:
            return HttpAnswer(200 if found else 404, "text/html; charset=utf-8", self._files.shell)
        visitor = await self._visits.visitor(request)
        if request.path == "/me":
            return as_json(200, self._me(visitor))
        if found is None:
            raise PageNotFound(f"there is no page {request.path}")
        route, names = found
        visit = Visit(self._parts, visitor, names, request.query)
        check(route.right, visit)
        if "text/event-stream" in accept and not route.is_scan:
            stream = self._stream(route, visit)
            await anext(stream)  # From here on it has a place, which it gives back when it is closed.
            return HttpAnswer(200, "text/event-stream", stream)
        with self._scan() if route.is_scan else nullcontext():
            return as_json(200, await self._shown(route, visit))

    @contextmanager
    def _scan(self) -> Iterator[None]:
        if self._scans >= SCANS_MAX:
            raise Unavailable(f"{SCANS_MAX} searches are under way: try again later")
        self._scans += 1
        try:
            yield
        finally:
            self._scans -= 1

    async def _shown(self, route: Route, visit: Visit) -> dict[str, Any]:
        parts = self._parts
        broker = {"node": parts.node_id, "cluster": parts.cluster_id, "version": parts.version}
        return {"at_ms": parts.clock.now_ms(), "broker": broker, **await route.page(visit)}

    async def _stream(self, route: Route, visit: Visit) -> AsyncGenerator[bytes, None]:
        """Nothing, when it has its place; then the page each second, if it has changed and may be seen still."""
        if self._streams >= STREAMS_MAX:
            raise Unavailable(f"{STREAMS_MAX} pages are followed already: close one, or load this one again later")
        now, said, said_at, cost_s = self._parts.clock.monotonic, b"", 0.0, float("inf")
        self._streams += 1
        try:
            yield b""
            while True:
                began = now()
                try:
                    if visit.visitor.is_over():
                        raise LoginFailed("the session is over")
                    check(route.right, visit)
                    shown = await self._shown(route, visit)
                    at_ms = shown.pop("at_ms")
                    data = page_of(shown)
                except HoldfastError as failure:
                    yield b"event: gone\ndata: " + json.dumps({"error": str(failure)}).encode() + b"\n\n"
                    return
                if data != said:
                    said, said_at = data, now()
                    yield b'data: {"at_ms":%d,' % at_ms + data[1:] + b"\n\n"
                elif now() - said_at > _SILENT_S:
                    said_at = now()
                    yield b": still here\n\n"
                cost_s = min(now() - began, 2 * cost_s)  # Others had their turn meanwhile, too.
                await asyncio.sleep(min(max(EVERY_S, cost_s / SHARE_MAX), EVERY_S_MAX))
        finally:
            self._streams -= 1

    def _me(self, visitor: Visitor) -> dict[str, Any]:
        seen = {PageRight.CLUSTER: visitor.sees(Operation.DESCRIBE, ResourceType.CLUSTER)}
        pages = [route.path for route in ROUTES if "{" not in route.path and seen.get(route.right, True)]
        me = {"visitor": str(visitor.session.principal), "can_leave": visitor.can_leave, "pages": pages}
        me["writes"] = self._parts.settings.write
        return me | {"cluster": self._parts.cluster_id, "node": self._parts.node_id, "version": self._parts.version}

    async def _change(self, request: HttpRequest) -> HttpAnswer:
        check_same_origin(request)
        visitor = await self._visits.visitor(request)
        for change in CHANGES:
            if found := change.pattern.fullmatch(request.path):
                asked = ChangeAsked(self._parts, visitor, found.groupdict(), body_of(request))
                return as_json(200, {"done": await make(change, asked)})
        raise PageNotFound(f"nothing is changed at {request.path}")

    async def _log_in_or_out(self, request: HttpRequest) -> HttpAnswer:
        check_same_origin(request)
        if request.path == "/logout":
            return as_json(200, {}, (("Set-Cookie", self._visits.log_out(request)),))
        if not self._visits.door.asks_login:
            raise Rejected("this console asks nobody for a password")
        cookie = await self._visits.log_in(request, claim_of(request))
        return as_json(200, {}, (("Set-Cookie", cookie),))


def _find(path: str) -> tuple[Route, Mapping[str, str]] | None:
    for pattern, route in _PATTERNS:
        if found := pattern.fullmatch(path):
            return route, found.groupdict()
    return None
