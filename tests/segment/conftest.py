"""Batches, a store that can be watched and disturbed, and a partition's manifest log."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from crc32c import crc32c

from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects import ObjectInfo
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.versions import VersionRetries
from holdfast.segment.manifest.changes import Append
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.log import ManifestLog
from holdfast.segment.names import segment_name
from holdfast.types import PartitionId

PAGE = 1000  # What S3 lists in one request.


class WatchedObjects:
    """Passes every call on, counts requests as S3 would bill them, and lets a test act before and after a call."""

    def __init__(self, inner: Any) -> None:
        self.url = inner.url
        self.inner = inner
        self.requests: list[tuple[str, str]] = []
        self.before: dict[str, Callable[[str], None]] = {}
        self.after: dict[str, Callable[[str], None]] = {}

    def _call(self, method: str, name: str, *rest: Any) -> Any:
        self.requests.append((method, name))
        self.before.get(method, _nothing)(name)
        result = getattr(self.inner, method)(name, *rest)
        self.after.get(method, _nothing)(name)
        return result

    def put_if_absent(self, name: str, data: Sequence[Any]) -> None:
        self._call("put_if_absent", name, data)

    def put(self, name: str, data: Sequence[Any]) -> None:
        self._call("put", name, data)

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        return self._call("get", name, start, end)

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        found = list(self._call("list", prefix, after))
        self.requests += [("list", prefix)] * (len(found) // PAGE)
        return iter(found)

    def delete(self, name: str) -> None:
        self._call("delete", name)

    def size(self, name: str) -> int:
        return self._call("size", name)


def _nothing(name: str) -> None:
    pass


def build_batch(base_offset: int, count: int = 1, *, size: int = 40, timestamp: int = 1000, epoch: int = 3) -> bytes:
    """A batch with a right header and crc; its records are opaque bytes."""
    records = bytes((base_offset * 31 + index) % 251 for index in range(size))
    covered = struct.pack(">hiqqqhii", 0, count - 1, timestamp, timestamp + count - 1, -1, -1, -1, count) + records
    return struct.pack(">qiibI", base_offset, 9 + len(covered), epoch, 2, crc32c(covered)) + covered


@pytest.fixture
def home() -> PartitionId:
    return PartitionId(UUID(int=0xABC), 7)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> WatchedObjects:
    return WatchedObjects(MemoryObjects(clock=clock))


@pytest.fixture
def make_batch() -> Callable[..., bytes]:
    return build_batch


@pytest.fixture
def patience(clock: ManualClock) -> VersionRetries:
    """Waits take no time, but the clock knows of them."""
    return VersionRetries(clock, SeededChance(7), clock.advance)


@pytest.fixture
def open_log(store: WatchedObjects, home: PartitionId, patience: VersionRetries) -> Callable[..., ManifestLog]:
    def open_it(writer: str = "leader", **options: Any) -> ManifestLog:
        values = {"cluster_id": "c1", "patience": patience, "first_epoch": 1, **options}
        return ManifestLog.open(values.pop("objects", store), home, writer=writer, **values)

    return open_it


@pytest.fixture
def make_info(home: PartitionId) -> Callable[..., SegmentInfo]:
    """A row for `[base, end)`, without an object behind it."""
    numbers = count(1)  # Safe to share between threads.

    def make(base: int, end: int, **values: Any) -> SegmentInfo:
        name = segment_name(home, base, end, 1, f"{next(numbers):016x}")
        plain = {
            "size": 1000,
            "tail_size": 200,
            "min_timestamp": base,
            "max_timestamp": end,
            "record_count": end - base,
        }
        return SegmentInfo(name, base, end, **plain | values)

    return make


@pytest.fixture
def append(
    clock: ManualClock, make_info: Callable[..., SegmentInfo], store: WatchedObjects
) -> Callable[[int, int], Append]:
    """The change that lists a segment for `[base, end)`, which is in the store."""

    def make(base: int, end: int) -> Append:
        info = make_info(base, end)
        store.inner.put(info.name, [bytes(info.size)])
        return Append((info,), end, {}, clock.monotonic())

    return make
