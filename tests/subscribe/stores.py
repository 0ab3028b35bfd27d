"""Stores that a client reads through, and that go wrong as a test says."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

from holdfast.io.calls import ThreadCalls
from holdfast.io.objects import ObjectInfo, Objects


class QuickCalls(ThreadCalls):
    """Waits between tries are not waited for."""

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(0)


class ReadOnly:
    """What a client needs of a store; every answer goes through a function of the test."""

    def __init__(self, inner: Objects, answer: Callable[[str, int, bytes], bytes]) -> None:
        self.url = inner.url
        self._inner = inner
        self._answer = answer
        self._lock = threading.Lock()
        self.reads: dict[str, int] = {}

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        with self._lock:
            self.reads[name] = number = self.reads.get(name, 0) + 1
        return self._answer(name, number, self._inner.get(name, start, end))

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        return self._inner.list(prefix, after)

    def size(self, name: str) -> int:
        return self._inner.size(name)

    def put_if_absent(self, name: str, data: Any) -> None:
        raise AssertionError("a client writes nothing")

    put = put_if_absent

    def delete(self, name: str) -> None:
        raise AssertionError("a client deletes nothing")


class Gated(ReadOnly):
    """No segment is read before the gate opens."""

    def __init__(self, inner: Objects) -> None:
        super().__init__(inner, lambda _name, _number, data: data)
        self.gate = threading.Event()
        self.waiting = threading.Event()

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        if name.startswith("segments/"):
            self.waiting.set()
            assert self.gate.wait(60)
        return super().get(name, start, end)
