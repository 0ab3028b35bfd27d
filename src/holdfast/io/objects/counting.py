"""An object store that counts what is asked of another one: for metrics, and for tests that bound a cost."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.io.objects import ObjectInfo, Objects
from holdfast.types import Buffer

_NAMES_PER_REQUEST = 1000  # What stores give at most in one answer.


@dataclass(frozen=True)
class StoreCounts:
    """Requests by kind, also those that failed, and the bytes of those that did not."""

    puts: int = 0
    gets: int = 0
    lists: int = 0
    deletes: int = 0
    sizes: int = 0
    bytes_put: int = 0
    bytes_got: int = 0

    @property
    def requests(self) -> int:
        return self.puts + self.gets + self.lists + self.deletes + self.sizes


class CountingObjects:
    """Passes every call on to `inner` and counts it. A listing counts one request for each 1,000 names it starts."""

    def __init__(self, inner: Objects) -> None:
        self.url = inner.url
        self._inner = inner
        self._counts = StoreCounts()
        self._lock = threading.Lock()

    @property
    def counts(self) -> StoreCounts:
        """What was counted so far; take the difference of two to measure what lies between."""
        return self._counts

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        self._add(puts=1)
        self._inner.put_if_absent(name, data)
        self._add(bytes_put=sum(map(len, data)))

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        self._add(puts=1)
        self._inner.put(name, data)
        self._add(bytes_put=sum(map(len, data)))

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        self._add(gets=1)
        data = self._inner.get(name, start, end)
        self._add(bytes_got=len(data))
        return data

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        infos = self._inner.list(prefix, after)
        return self._counted(infos)

    def delete(self, name: str) -> None:
        self._add(deletes=1)
        self._inner.delete(name)

    def size(self, name: str) -> int:
        self._add(sizes=1)
        return self._inner.size(name)

    def _counted(self, infos: Iterator[ObjectInfo]) -> Iterator[ObjectInfo]:
        self._add(lists=1)
        for number, info in enumerate(infos):
            if number and number % _NAMES_PER_REQUEST == 0:
                self._add(lists=1)
            yield info

    def _add(self, **more: int) -> None:
        with self._lock:
            self._counts = replace(self._counts, **{key: getattr(self._counts, key) + n for key, n in more.items()})
