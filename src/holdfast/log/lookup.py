"""Finding records by time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import Unavailable
from holdfast.io.objects import NotFound
from holdfast.log.errors import ColdReadFailed
from holdfast.record.records import read_records
from holdfast.segment.info import SegmentInfo
from holdfast.types import Offset

if TYPE_CHECKING:
    from holdfast.log.partition import PartitionLog


class Lookup:
    """Look-ups in one partition. Only what is readable is found."""

    def __init__(self, partition: PartitionLog) -> None:
        self._partition = partition

    async def find_timestamp(self, timestamp: int) -> tuple[Offset, int] | None:
        """The first record at or after a time."""
        partition = self._partition
        partition.check_alive()
        at = partition.marks.log_start
        while at < partition.marks.flushed:
            info = partition.manifest.segments.holding(at)
            assert info is not None, "the manifest tiles what is flushed"
            if info.max_timestamp >= timestamp:
                found = await self._in_segment(info, timestamp, at)
                if found is not None:
                    return found
            at = info.end
        return await self._in_tail(timestamp, at)

    async def _in_segment(self, info: SegmentInfo, timestamp: int, at: int) -> tuple[Offset, int] | None:
        partition = self._partition
        try:
            return await partition.ground.calls.run(self._search_segment, info, timestamp, at)
        except NotFound:
            await partition.refresh_manifest()
            return await self.find_timestamp(timestamp)
        except Unavailable as failure:
            raise ColdReadFailed(partition.home.path, at, failure) from failure

    def _search_segment(self, info: SegmentInfo, timestamp: int, at: int) -> tuple[Offset, int] | None:
        while at < info.end:
            found = self._partition.ground.reader.find_timestamp(info, timestamp, at)
            if found is None:
                return None
            header, batch = found
            record = _first_at(batch, timestamp, at)
            if record is not None:
                return record
            at = header.end_offset  # The record that made the batch's maximum is below log start.
        return None

    async def _in_tail(self, timestamp: int, at: int) -> tuple[Offset, int] | None:
        partition = self._partition
        for batch in list(partition.tail.from_offset(at)):
            if batch.base >= partition.marks.high_watermark:
                break
            if batch.max_timestamp >= timestamp and batch.end > at:
                [data] = await partition.bytes_of([batch])
                found = _first_at(data, timestamp, at)
                if found is not None:
                    return found
        return None

    async def find_max_timestamp(self) -> tuple[Offset, int] | None:
        """The first record with the highest timestamp."""
        partition = self._partition
        highest = max((each.max_timestamp for each in partition.manifest.segments), default=-1)
        readable = (each for each in partition.tail if each.end <= partition.marks.high_watermark)
        highest = max(highest, max((each.max_timestamp for each in readable), default=-1))
        return await self.find_timestamp(highest) if highest >= 0 else None


def _first_at(batch: memoryview, timestamp: int, at: int) -> tuple[Offset, int] | None:
    for record in read_records(batch):
        assert record.offset is not None
        if record.timestamp >= timestamp and record.offset >= at:
            return Offset(record.offset), record.timestamp
    return None
