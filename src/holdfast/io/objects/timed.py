"""An object store that times what is asked of another one: for metrics."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from holdfast.errors import Unavailable
from holdfast.io.clock import Clock
from holdfast.io.objects import ObjectInfo, Objects, fill
from holdfast.measure import Histogram
from holdfast.types import Buffer


class StoreTimes:
    """What was asked, by operation and by the kind of object: the first part of its name, such as `segments`."""

    def __init__(self) -> None:
        self.times: defaultdict[tuple[str, str], Histogram] = defaultdict(Histogram)
        self.failures: Counter[tuple[str, str]] = Counter()
        self.sizes: Counter[str] = Counter()  # Bytes by operation: put and get.
        self.away_since: float | None = None  # By the clock: since then every call has failed that has ended.

    def away_s(self, now: float) -> float | None:
        """How long every call has failed; None: the last one has not."""
        return None if self.away_since is None else max(now - self.away_since, 0.0)


class TimedObjects:
    """Passes every call on to `inner`. A listing is timed up to its first name. Any thread may call."""

    def __init__(self, inner: Objects, clock: Clock, seen: StoreTimes) -> None:
        self.url = inner.url
        self._inner = inner
        self._clock = clock
        self._seen = seen
        self._lock = threading.Lock()

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        with self._timed("put", name):
            self._inner.put_if_absent(name, data)
        self._add_size("put", sum(map(len, data)))

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        with self._timed("put", name):
            self._inner.put(name, data)
        self._add_size("put", sum(map(len, data)))

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        with self._timed("get", name):
            data = self._inner.get(name, start, end)
        self._add_size("get", len(data))
        return data

    def get_into(self, name: str, start: int, into: memoryview) -> int:
        with self._timed("get", name):
            size = fill(self._inner, name, start, into)
        self._add_size("get", size)
        return size

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        infos = self._inner.list(prefix, after)  # A name that is wrong is refused here, not when the first is taken.
        return self._timed_list(prefix, infos)

    def _timed_list(self, prefix: str, infos: Iterator[ObjectInfo]) -> Iterator[ObjectInfo]:
        with self._timed("list", prefix):
            first = next(infos, None)
        if first is not None:
            yield first
            yield from infos

    def delete(self, name: str) -> None:
        with self._timed("delete", name):
            self._inner.delete(name)

    def size(self, name: str) -> int:
        with self._timed("size", name):
            return self._inner.size(name)

    @contextmanager
    def _timed(self, operation: str, name: str) -> Iterator[None]:
        asked = operation, name.partition("/")[0]
        began = self._clock.monotonic()
        away_since = None
        try:
            yield
        except Unavailable:
            away_since = self._seen.away_since or began
            with self._lock:
                self._seen.failures[asked] += 1
            raise
        finally:
            with self._lock:
                self._seen.times[asked].add(self._clock.monotonic() - began)
                self._seen.away_since = away_since

    def _add_size(self, operation: str, size: int) -> None:
        with self._lock:
            self._seen.sizes[operation] += size
