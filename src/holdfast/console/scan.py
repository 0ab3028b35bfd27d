"""Bounded searches: some partitions in one order of time, so many records, so many bytes, so long; then a cursor.

Every read goes the way of a fetch, through the same caches and threads; what it found is looked through in a thread. A
search ends with its visitor: it is a task of theirs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from holdfast.console.parts import Parts
from holdfast.console.search import ROWS_SIZE_MAX, Found, SearchFilter, TransactionStates, look_through
from holdfast.errors import Rejected
from holdfast.log.errors import OutOfRange
from holdfast.log.partition.partition import PartitionLog

SIZE_MAX: Final = 32 << 20  # Bytes looked through for one answer,
SECONDS_MAX: Final = 2.0  # and how long.
LANES_MAX: Final = 64
_READ_SIZE = 512 << 10


class ScanLane:
    """One partition of a search."""

    def __init__(self, topic: str, number: int, log: PartitionLog, offset: int) -> None:
        self.topic, self.number, self.log = topic, number, log
        self.offset = offset  # Where it reads on.
        self.rows: deque[dict[str, Any]] = deque()
        self.newest_ms = -1
        self.ended = False

    @property
    def next_offset(self) -> int:
        """Where a search goes on that ends here."""
        return int(self.rows[0]["offset"]) if self.rows else self.offset

    async def fill(self, parts: Parts, wanted: SearchFilter) -> tuple[int, int, int]:
        """Read one piece more; how many records and bytes it had, and how many batches nobody can read."""
        log = self.log
        try:
            read = await log.read(self.offset, None, _READ_SIZE)
        except OutOfRange:  # Retention has overtaken us.
            self.offset = log.marks.log_start
            read = await log.read(self.offset, None, _READ_SIZE)
        start, self.offset = self.offset, read.next_offset
        self.ended = read.end_reached or not read.buffers
        flushed = log.marks.flushed
        known = TransactionStates(log.aborted(start, read.next_offset), log.transactions.open)
        asked = read.buffers, start, wanted, known, self.newest_ms
        found: Found = await parts.schemas.look(parts.calls, self.topic, look_through, *asked)
        self.newest_ms = found.newest_ms
        if found.stopped_at is not None:
            self.offset, self.ended = found.stopped_at, False
        for row in found.rows:
            place = "segment" if row["offset"] < flushed else "write-ahead log"
            self.rows.append({"topic": self.topic, "partition": self.number, "place": place, **row})
        return found.records, sum(map(len, read.buffers)), found.unreadable


async def search(parts: Parts, lanes: Sequence[ScanLane], wanted: SearchFilter, rows_max: int) -> dict[str, Any]:
    """Records in the order of their times, as far as the bounds reach, and where to go on."""
    if len(lanes) > LANES_MAX:
        raise Rejected(f"{len(lanes)} partitions are too many for one search: {LANES_MAX} at most")
    now = parts.clock.monotonic
    wanted = wanted._replace(rows_size_max=ROWS_SIZE_MAX // max(len(lanes), 1))
    began, rows, records, size, unreadable, shown_size = now(), list[dict[str, Any]](), 0, 0, 0, 0
    while len(rows) < rows_max and shown_size < ROWS_SIZE_MAX:
        empty = next((each for each in lanes if not each.rows and not each.ended), None)
        if empty is None:
            full = [each for each in lanes if each.rows]
            if not full:
                break
            rows.append(min(full, key=lambda each: (each.rows[0]["ms"], each.number)).rows.popleft())
            shown_size += rows[-1].pop("json_size")
        elif size >= SIZE_MAX or now() - began > SECONDS_MAX:
            break
        else:
            more = await empty.fill(parts, wanted)
            records, size, unreadable = records + more[0], size + more[1], unreadable + more[2]
    ended = all(each.ended and not each.rows for each in lanes)
    return {
        "rows": rows,
        "looked_at": {"records": records, "size": size, "seconds": round(now() - began, 3), "unreadable": unreadable},
        "ended": ended,
        "cursor": ",".join(f"{each.topic}:{each.number}:{each.next_offset}" for each in lanes),
    }


def lanes_at(parts: Parts, cursor: str, may_read: Callable[[str], None]) -> list[ScanLane]:
    """Where a cursor stands. Raises Rejected for one that is none, and what `may_read` raises."""
    lanes = []
    for each in cursor.split(","):
        topic, _, rest = each.rpartition(":")[0].rpartition(":")
        offset = each.rpartition(":")[2]
        if not topic or not rest.isdecimal() or not offset.isdecimal():
            raise Rejected(f"the cursor {cursor[:80]!r} is none: search again from the start")
        may_read(topic)
        lanes.append(ScanLane(topic, int(rest), parts.partition(topic, rest), int(offset)))
    return lanes


async def start_of(log: PartitionLog, wanted: str, now_ms: int, last: int) -> int:
    """The offset where a search begins: `offset 17`, `time -10m`, `start`, or so many before the end."""
    kind, _, value = wanted.partition(" ")
    marks = log.marks
    if kind == "start":
        return marks.log_start
    if kind == "offset":
        if not value.isdecimal():
            raise Rejected(f"{value!r} is no offset")
        return min(max(int(value), marks.log_start), marks.high_watermark)
    if kind == "time":
        found = await log.find_timestamp(parse_time(value, now_ms))
        return marks.high_watermark if found is None else found[0]
    if kind in ("", "end"):
        return max(marks.log_start, marks.high_watermark - last)
    raise Rejected(f"from={wanted}: write start, end, offset NUMBER or time WHEN")


_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_time(text: str, now_ms: int) -> int:
    """Milliseconds since 1970, or before now: `-10m`, `-2h`, `-1d`."""
    if text.startswith("-") and text[-1:] in _UNITS and text[1:-1].isdecimal():
        return max(now_ms - int(text[1:-1]) * _UNITS[text[-1]], 0)
    if text.isdecimal():
        return int(text)
    raise Rejected(f"{text!r} is no time: write -10m, -2h, -1d, or milliseconds since 1970")
