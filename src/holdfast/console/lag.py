"""How far groups are behind in time: the age of the record that each is to read next, read and not guessed."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from holdfast.console.history import EVERY_S, KEPT
from holdfast.errors import HoldfastError
from holdfast.io.calls import BlockingCalls
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.batch import split
from holdfast.record.errors import UNREADABLE
from holdfast.record.records import read_records

_KNOWN_MAX: Final = 20_000
_GROUPS_MAX: Final = 1_000
_SEEN_MAX: Final = 100  # Groups whose lag is remembered.
_OVER_S = 5.0  # Speeds are taken over so long at least.


class Lags:
    """A record's time never changes: each is read once."""

    def __init__(self, calls: BlockingCalls) -> None:
        self._calls = calls
        self._known: dict[tuple[str, int], int] = {}
        self._before: dict[
            str, tuple[float, int, int]
        ] = {}  # By group and visitor: when, and the sums of committed and of ends.
        self._speeds: dict[str, tuple[float, float]] = {}
        self._seen: dict[str, deque[tuple[int, int]]] = {}  # The same: times and lags.

    async def next_ms(self, log: PartitionLog, offset: int) -> int | None:
        """The timestamp of the first record from an offset on; None: there is none, or nobody can read it now."""
        offset = max(offset, log.marks.log_start)
        key = log.home.path, offset
        if key not in self._known:
            try:
                read = await log.read(offset, 1, 1)
                found = await self._calls.local(_first_ms, read.buffers, offset)
            except HoldfastError:
                return None
            if found is None:
                return None
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[key] = found
        return self._known[key]

    def speed(self, group: str, rows: Sequence[Mapping[str, Any]], now: float) -> dict[str, float | None]:
        """Records a second that the group reads and that are written, and how long it takes to catch up."""
        told = [row for row in rows if row["lag"] is not None]
        committed, ends = sum(row["committed"] for row in told), sum(row["end"] for row in told)
        before = self._before.get(group)
        if before is None or now - before[0] >= _OVER_S:
            if before is not None:
                passed = now - before[0]
                self._speeds[group] = (committed - before[1]) / passed, (ends - before[2]) / passed
            if len(self._before) >= _GROUPS_MAX:
                self._before.clear()
                self._speeds.clear()
            self._before[group] = now, committed, ends
        reads, writes = self._speeds.get(group, (None, None))
        lag = sum(row["lag"] for row in told)
        gains = None if reads is None or writes is None else reads - writes
        left_s = lag / gains if gains is not None and gains > 0 else None
        return {"reads": _rounded(reads), "writes": _rounded(writes), "caught_up_s": _rounded(left_s)}

    def seen(self, group: str, lag: int, now_ms: int) -> dict[str, list[int]]:
        """The lags of the last hour, as far as somebody has looked at the group; with this one."""
        if len(self._seen) >= _SEEN_MAX and group not in self._seen:
            del self._seen[next(iter(self._seen))]
        points = self._seen.setdefault(group, deque(maxlen=KEPT))
        if not points or now_ms - points[-1][0] >= EVERY_S * 1000:
            points.append((now_ms, lag))
        return {"at_ms": [at for at, _ in points], "lag": [each for _, each in points]}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _first_ms(buffers: list[memoryview], offset: int) -> int | None:
    for buffer in buffers:
        for header, batch in split(buffer):
            if header.end_offset <= offset:
                continue
            if header.is_control:
                return header.max_timestamp
            try:
                for record in read_records(batch):
                    if (record.offset or 0) >= offset:
                        return record.timestamp
            except UNREADABLE:
                return header.max_timestamp
    return None
