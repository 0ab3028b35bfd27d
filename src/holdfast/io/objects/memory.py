"""An object store in memory: the model the others are tested against, and the quick one for tests.

Nothing survives the process. Several handles can share one `MemoryBucket`, as several processes share a bucket.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.io.clock import Clock, SystemClock
from holdfast.io.objects import Exists, NotFound, ObjectInfo
from holdfast.io.objects.names import BadName, check_name, check_prefix, clip
from holdfast.types import Buffer


class _Stored(NamedTuple):
    data: bytes
    modified_ms: int


class MemoryBucket:
    """What is stored, apart from who looks at it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stored: dict[str, _Stored] = {}
        self.names: list[str] = []  # The keys of `stored`, sorted.

    def add(self, name: str, stored: _Stored) -> None:
        """Add or replace an object; the lock is held."""
        if name not in self.stored:
            self._check_folders(name)
            insort(self.names, name)
        self.stored[name] = stored

    def _check_folders(self, name: str) -> None:
        """Refuse what a directory would refuse, so that whoever works on the model works on the others."""
        parts = name.split("/")
        inside = bisect_left(self.names, name + "/")
        if any("/".join(parts[:count]) in self.stored for count in range(1, len(parts))) or (
            inside < len(self.names) and self.names[inside].startswith(name + "/")
        ):
            raise BadName(name, "it is the folder of an object, or an object is its folder")


class MemoryObjects:
    """One handle on a bucket in memory."""

    def __init__(self, bucket: MemoryBucket | None = None, name: str = "unnamed", clock: Clock | None = None) -> None:
        self.url = f"memory://{name}"
        self._bucket = bucket or MemoryBucket()
        self._clock = clock or SystemClock()

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        check_name(name)
        stored = _Stored(b"".join(data), self._clock.now_ms())
        with self._bucket.lock:
            if name in self._bucket.stored:
                raise Exists(name)
            self._bucket.add(name, stored)

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        check_name(name)
        stored = _Stored(b"".join(data), self._clock.now_ms())
        with self._bucket.lock:
            self._bucket.add(name, stored)

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        data = self._find(name).data
        start, end = clip(start, end, len(data))
        return data[start:end]

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        check_prefix(prefix)
        with self._bucket.lock:
            return iter(self._listed(prefix, after))

    def delete(self, name: str) -> None:
        check_name(name)
        with self._bucket.lock:
            if self._bucket.stored.pop(name, None) is not None:
                del self._bucket.names[bisect_left(self._bucket.names, name)]

    def size(self, name: str) -> int:
        return len(self._find(name).data)

    def _find(self, name: str) -> _Stored:
        check_name(name)
        with self._bucket.lock:
            stored = self._bucket.stored.get(name)
        if stored is None:
            raise NotFound(name)
        return stored

    def _listed(self, prefix: str, after: str) -> Sequence[ObjectInfo]:
        names = self._bucket.names
        found = []
        for index in range(max(bisect_left(names, prefix), bisect_right(names, after)), len(names)):
            name = names[index]
            if not name.startswith(prefix):
                break  # Names with the prefix lie together, so this is behind the last of them.
            data, modified_ms = self._bucket.stored[name]
            found.append(ObjectInfo(name, len(data), modified_ms))
        return found
