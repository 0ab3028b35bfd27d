"""Reads of one partition: older data from segments, newer from the tail, in one loop over both.

Each step looks at the marks of its own moment: below `flushed` the manifest has the offset, above it the tail has it.
A flush that commits between two steps only moves the border.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from holdfast.errors import Corrupt, Unavailable
from holdfast.io.objects import NotFound
from holdfast.io.store_errors import NewerFormat
from holdfast.log.context import LogContext
from holdfast.log.errors import ColdReadFailed, OutOfRange
from holdfast.log.partition.manifest_committer import ManifestCommitter
from holdfast.log.partition.marks import Marks
from holdfast.log.partition.state import PartitionState
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.segment.cached.read import SegmentRead
from holdfast.segment.manifest.info import Aborted, SegmentInfo
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.missing import judge
from holdfast.types import Offset, PartitionId
from holdfast.wal import ReadBelowPurged
from holdfast.wal.errors import DamagedLog

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Read:
    """What a read found."""

    buffers: list[memoryview]  # Each one or more whole batches, in order; read in pieces, they are cut anywhere.
    next_offset: Offset  # Where to go on.
    high_watermark: Offset
    last_stable: Offset
    log_start: Offset
    end_reached: bool  # Nothing was readable behind this when the read ended.
    record_count: int = 0
    aborted: list[Aborted] = field(default_factory=list)  # Only for committed reads.


class _Budget:
    """What is left of a read's limits. The first batch is always granted, so that a read makes progress."""

    def __init__(self, max_records: int | None, max_bytes: int, *, granted: bool = False) -> None:
        self.records_left = max_records
        self.bytes_left = max_bytes
        self._granted = granted

    def grant(self, size: int, records: int) -> bool:
        """Take so much from the limits, unless it is too much and not the first."""
        if self._granted and (
            size > self.bytes_left or (self.records_left is not None and records > self.records_left)
        ):
            return False
        self._granted = True
        self.bytes_left -= size
        if self.records_left is not None:
            self.records_left -= records
        return True

    @property
    def spent(self) -> bool:
        return self._granted and (self.bytes_left <= 0 or (self.records_left is not None and self.records_left <= 0))


class Readable(Protocol):
    """What is read: the part of a partition that is in the store, and its marks."""

    @property
    def home(self) -> PartitionId: ...
    @property
    def ground(self) -> LogContext: ...
    @property
    def manifest(self) -> Manifest: ...
    @property
    def marks(self) -> Marks: ...
    @property
    def last_stable(self) -> Offset: ...
    def check_alive(self) -> None: ...
    def aborted(self, start: int, end: int) -> list[Aborted]: ...


class ColdReading:
    """Reads of what is in segments. Above that nothing is found here."""

    def __init__(self, partition: Readable, refresh: Callable[[], Awaitable[Manifest]]) -> None:
        self._partition = partition
        self._refresh = refresh  # Loads the newest manifest.
        self._reads = partition.ground.reads
        self._times = partition.ground.read_times
        self._now = partition.ground.clock.monotonic
        self.places: Counter[str] = Counter()  # How often it was read from where.

    async def read(
        self, offset: int, max_records: int | None, max_bytes: int, *, committed: bool, in_pieces: bool
    ) -> Read:
        partition = self._partition
        partition.check_alive()
        self._check_range(offset)
        budget = _Budget(max_records, max_bytes)
        buffers: list[memoryview] = []
        size = records = 0
        at = Offset(offset)
        while not budget.spent:
            limit = partition.last_stable if committed else partition.marks.high_watermark
            if at >= limit:
                break
            try:
                if at < partition.marks.flushed:
                    found = await self._from_segments(at, limit, budget, in_pieces=in_pieces)
                else:
                    found = await self._above(at, limit, budget)
            except OutOfRange:
                if not buffers:
                    raise
                break  # Retention has overtaken us; what was read before is right.
            except (Corrupt, NewerFormat, ColdReadFailed) as failure:
                if not isinstance(failure, ColdReadFailed):
                    partition.ground.damage.note(partition.home.path, failure, at)
                if not buffers:
                    raise
                break  # What is sound in front of it is served; who goes on there meets it.
            except ReadBelowPurged:  # Flushed while we waited for the write-ahead log: now it is in a segment.
                partition.check_alive()
                if at >= partition.marks.flushed:
                    raise
                records_left = None if max_records is None else max_records - records
                budget = _Budget(records_left, max_bytes - size, granted=bool(buffers))
                continue
            partition.check_alive()
            buffers += found.buffers
            size += found.size
            records += found.record_count
            if found.next_offset == at:
                break
            at = found.next_offset
            if found.damage is not None:
                partition.ground.damage.note(partition.home.path, found.damage, at)
                break
        return self._result(offset, at, buffers, records, committed=committed)

    def _check_range(self, offset: int) -> None:
        marks = self._partition.marks
        if offset < marks.log_start:
            raise OutOfRange(offset, marks.log_start, marks.log_end)

    def _result(self, start: int, at: int, buffers: list[memoryview], records: int, *, committed: bool) -> Read:
        partition = self._partition
        marks, last_stable = partition.marks, partition.last_stable
        return Read(
            buffers,
            Offset(at),
            marks.high_watermark,
            last_stable,
            marks.log_start,
            at >= (last_stable if committed else marks.high_watermark),
            records,
            partition.aborted(start, at) if committed and buffers else [],
        )

    async def _above(self, offset: int, limit: int, budget: _Budget) -> SegmentRead:  # noqa: ARG002
        """What is not in segments."""
        return SegmentRead([], Offset(offset), 0, 0, 0, cached=True)

    def _note(self, place: str, offset: int, began: float) -> None:
        self._reads[place] += 1
        self.places[place] += 1
        self._times[place].add(self._now() - began)
        log.debug("%s: read at %d served from %s", self._partition.home.path, offset, place)

    async def _from_segments(self, offset: int, limit: int, budget: _Budget, *, in_pieces: bool) -> SegmentRead:
        partition = self._partition
        self._check_range(offset)
        began = self._now()
        info = partition.manifest.segments.holding(offset)
        assert info is not None, "the manifest tiles what is flushed"
        ground, wanted = partition.ground, (info, offset, budget.bytes_left)
        limits: dict[str, Any] = {"max_records": budget.records_left, "end": limit, "in_pieces": in_pieces}
        try:
            found = ground.kept.read(*wanted, **limits)
            if found is None:
                found = await ground.calls.run(ground.reader.read, *wanted, **limits)
        except NotFound:
            await look_again(partition, self._refresh, info, offset)
            return await self._from_segments(offset, limit, budget, in_pieces=in_pieces)
        except Unavailable as failure:
            raise ColdReadFailed(partition.home.path, offset, failure) from failure
        if found.batch_count and not budget.grant(found.size, found.record_count):
            return SegmentRead([], Offset(offset), 0, 0, 0, cached=found.cached)
        if ground.damage.count_of(partition.home.path):
            ground.damage.note_sound(partition.home.path, info.name, offset, found.next_offset)
        self._note("cache" if found.cached else "store", offset, began)
        return found


class Reading(ColdReading):
    """The reads of one partition: where segments end the tail goes on."""

    def __init__(self, partition: PartitionState, commits: ManifestCommitter) -> None:
        super().__init__(partition, commits.refresh)
        self._state = partition
        self._commits = commits

    async def _above(self, offset: int, limit: int, budget: _Budget) -> SegmentRead:
        taken: list[TailBatch] = []
        for batch in self._state.tail.from_offset(offset):
            if batch.base >= limit or not budget.grant(batch.size, batch.record_count):
                break
            taken.append(batch)
        place, began = self._place_of(taken), self._now()
        try:
            buffers = await self._state.bytes_of(taken)
        except DamagedLog:
            taken, buffers = await self._in_front_of_damage(taken)
        if taken:
            self._note(place, taken[0].base, began)
        end = taken[-1].end if taken else offset
        size, records = sum(each.size for each in taken), sum(each.record_count for each in taken)
        return SegmentRead(buffers, Offset(end), size, len(taken), records, cached=True)

    async def _in_front_of_damage(self, batches: list[TailBatch]) -> tuple[list[TailBatch], list[memoryview]]:
        """Those of some batches that can be read; the damage is raised where the first of them cannot."""
        buffers: list[memoryview] = []
        for batch in batches:
            try:
                buffers += await self._state.bytes_of([batch])
            except DamagedLog:
                if not buffers:
                    raise
                break
        return batches[: len(buffers)], buffers

    def _place_of(self, batches: list[TailBatch]) -> str:
        if batches and batches[0].data is None:
            return "spilled"
        return "in-flight" if batches and batches[0].base < self._commits.end else "buffer"


async def look_again(
    partition: Readable, refresh: Callable[[], Awaitable[Manifest]], missing: SegmentInfo, offset: int
) -> None:
    """A segment is gone: the newest manifest says that it is expired, or names others in its place."""
    try:
        judge(missing, await refresh())
    except Unavailable as failure:
        raise ColdReadFailed(partition.home.path, offset, failure) from failure
