"""Reading for share groups: from a partition's log to the records that a member now has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.coordinator.share.durable_share import DurableSharePartition
from holdfast.coordinator.share.partition import Acquired, AvailableRange
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.read import Read
from holdfast.record.batch import BatchHeader, split
from holdfast.segment.aborted import AbortedIndex

READ_SIZE_MAX = 1 << 20  # Bytes of one partition in one answer, unless its first batch is larger.
_READS_MAX = 16  # In one answer: more of them only where others were quicker, or nobody may see what was read.


class GivenRecords(NamedTuple):
    """Batches, and which of their records are the member's."""

    batches: Sequence[memoryview]
    acquired: Sequence[Acquired]

    @property
    def size(self) -> int:
        return sum(map(len, self.batches))


async def read(
    log: PartitionLog,
    partition: DurableSharePartition,
    member_id: str,
    count_max: int,
    size_max: int,
    *,
    committed: bool,
    whole: bool,
    first: bool,
) -> GivenRecords | None:
    """Give a member what is free, if anything is. Unless it is the `first` of an answer, it must fit."""
    for _ in range(_READS_MAX):
        partition.cut(log.marks.log_start)
        offset = partition.rules.next_offset(partition.limits)
        end = log.last_stable if committed else log.marks.high_watermark
        if offset is None or offset >= end:
            return None
        count = min(count_max, partition.limits.records_max)
        found = await log.read(offset, count, min(size_max, READ_SIZE_MAX), committed=committed)
        batches = [each for buffer in found.buffers for each in split(buffer)]
        if not first and sum(len(batch) for _, batch in batches) > size_max:
            return None
        read = _found(offset, found, batches, committed=committed)
        await partition.look()
        acquired = partition.acquire(member_id, read, count_max, whole=whole)
        if acquired:
            begin, stop = acquired[0].first, acquired[-1].end
            sent = [batch for header, batch in batches if header.base_offset < stop and header.end_offset > begin]
            return GivenRecords(sent, acquired)
    return None


class Ahead:
    """How much lies ahead of a share group in one partition, without giving any of it out.

    A look goes on where the last one has ended, unless the group has got on meanwhile: so all looks together read
    everything once.
    """

    def __init__(self) -> None:
        self._first = self._end = -1
        self._size = 0

    async def look(self, log: PartitionLog, partition: DurableSharePartition, size_max: int, *, committed: bool) -> int:
        """Bytes that a member could be given now, counted up to `size_max`."""
        partition.cut(log.marks.log_start)
        first = partition.rules.next_offset(partition.limits)
        if first is None:
            return 0
        if first != self._first:
            self._first = self._end = first
            self._size = 0
        end = log.last_stable if committed else log.marks.high_watermark
        while self._size < size_max and self._end < end:
            found = await log.read(self._end, None, min(size_max - self._size, READ_SIZE_MAX), committed=committed)
            aborted = AbortedIndex(found.aborted if committed else ())
            for header, batch in (each for buffer in found.buffers for each in split(buffer)):
                self._size += 0 if header.is_control or aborted.holds(header) else len(batch)
            if found.next_offset <= self._end:
                break
            self._end = found.next_offset
        return self._size


def _found(
    offset: int, found: Read, batches: Sequence[tuple[BatchHeader, memoryview]], *, committed: bool
) -> AvailableRange:
    """What was read, with what nobody may see: markers, aborted transactions, and what compaction has taken out."""
    aborted = AbortedIndex(found.aborted if committed else ())
    spoiled, at = [], offset
    for header, _ in batches:
        if header.base_offset > at:
            spoiled.append(range(at, header.base_offset))
        at = max(at, header.end_offset)
        if header.is_control or aborted.holds(header):
            spoiled.append(range(max(header.base_offset, offset), header.end_offset))
    if found.next_offset > at:
        spoiled.append(range(at, found.next_offset))
    return AvailableRange(offset, found.next_offset, spoiled, [header.end_offset for header, _ in batches])
