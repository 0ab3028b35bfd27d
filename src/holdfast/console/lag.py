"""How far groups are behind in time: the age of the record that each is to read next, read and not guessed."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from typing import Any, Final

from holdfast.errors import HoldfastError
from holdfast.io.calls import BlockingCalls
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.batch import split
from holdfast.record.errors import UNREADABLE
from holdfast.record.records import read_records

_KNOWN_MAX: Final = 20_000
_GROUPS_MAX: Final = 1_000
NOTED_EVERY_MS: Final = 10_000
NOTED_MAX: Final = 360  # An hour.
PAIRS_MAX: Final = 100  # Groups in topics whose lag is remembered.
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
        self._noted: deque[tuple[int, dict[tuple[str, str], int]]] = deque(maxlen=NOTED_MAX)

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

    def note(self, found: Mapping[str, Mapping[str, int]], now_ms: int) -> None:
        """Lags by topic and group, to be kept for an hour: the largest, of so many groups in topics."""
        if self._noted and now_ms - self._noted[-1][0] < NOTED_EVERY_MS:
            return
        lags = ((lag, group, topic) for topic, each in found.items() for group, lag in each.items())
        self._noted.append((now_ms, {(group, topic): lag for lag, group, topic in nlargest(PAIRS_MAX, lags)}))

    def last_hour(self, group: str, topics: Collection[str], lag: int, now_ms: int) -> dict[str, list[int]]:
        """What was noted of a group in these topics; and now."""
        sums = [(at, [lags[group, each] for each in topics if (group, each) in lags]) for at, lags in self._noted]
        points = [*((at, sum(each)) for at, each in sums if each), (now_ms, lag)]
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
