"""Requests counted and timed on their way to the broker and back: for metrics."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.broker.net.request import Done, Request
from holdfast.broker.net.server import Work
from holdfast.io.clock import Clock
from holdfast.measure import ApiCounts, Traffic
from holdfast.protocol.api import APIS, Key
from holdfast.types import Buffer

_NAMES = {int(key): api.name for key, api in APIS.items()}
_UNKNOWN = "unknown"  # One name for all that do not exist: clients must not be able to make names up.


class CountedWork:
    """Passes every request on to `inner`."""

    def __init__(self, inner: Work, traffic: Traffic, clock: Clock) -> None:
        self._inner = inner
        self._traffic = traffic
        self._now = clock.monotonic
        self._produced = traffic.setdefault(_NAMES[Key.PRODUCE], ApiCounts())

    def start_produce(self, request: Request, done: Done) -> bool:
        began = self._now()
        counts = self._produced

        def finish(answer: Sequence[Buffer]) -> None:
            self._note_answer(counts, began, answer)
            done(answer)

        if not self._inner.start_produce(request, finish):
            return False  # It has to wait, and comes back through `handle`.
        counts.requests += 1
        counts.received_size += len(request.frame)
        return True

    async def handle(self, request: Request) -> Sequence[Buffer]:
        began = self._now()
        name = _NAMES.get(request.header.api_key, _UNKNOWN)
        counts = self._traffic.get(name) or self._traffic.setdefault(name, ApiCounts())
        counts.requests += 1
        counts.received_size += len(request.frame)
        answer = await self._inner.handle(request)
        self._note_answer(counts, began, answer)
        return answer

    def _note_answer(self, counts: ApiCounts, began: float, answer: Sequence[Buffer]) -> None:
        counts.time.add(self._now() - began)
        counts.sent_size += sum(map(len, answer))
