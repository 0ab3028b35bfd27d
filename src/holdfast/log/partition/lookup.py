"""Finding records by time."""

from __future__ import annotations

from holdfast.errors import Corrupt, Unavailable
from holdfast.io.objects import NotFound
from holdfast.log.errors import ColdReadFailed
from holdfast.log.partition.manifest_committer import ManifestCommitter
from holdfast.log.partition.read import look_again
from holdfast.log.partition.state import PartitionState
from holdfast.record.batch import BatchHeader, read_header
from holdfast.record.errors import UNREADABLE
from holdfast.record.records import read_records
from holdfast.segment.manifest.info import NO_TIMESTAMP, SegmentInfo
from holdfast.types import Offset
from holdfast.wal import ReadBelowPurged


class Lookup:
    """Look-ups in one partition. Only what is readable is found."""

    def __init__(self, partition: PartitionState, commits: ManifestCommitter) -> None:
        self._partition = partition
        self._commits = commits

    async def find_timestamp(self, timestamp: int) -> tuple[Offset, int] | None:
        """The first record at or after a time."""
        partition = self._partition
        partition.check_alive()
        at = partition.marks.log_start
        while (at := max(at, partition.marks.log_start)) < partition.marks.flushed:
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
            await look_again(partition, self._commits.refresh, info, at)
            return await self.find_timestamp(timestamp)
        except Corrupt as failure:
            partition.ground.damage.note(partition.home.path, failure, at)
            raise
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
        while (batch := partition.tail.find_timestamp(at, timestamp)) is not None:
            if batch.base >= partition.marks.high_watermark:
                break
            try:
                [data] = await partition.bytes_of([batch])
            except ReadBelowPurged:  # Flushed while we waited: now it is in a segment.
                partition.check_alive()
                if batch.base >= partition.marks.flushed:
                    raise
                return await self.find_timestamp(timestamp)
            found = await partition.ground.calls.run(_first_at, data, timestamp, at)
            if found is not None:
                return found
            at = Offset(batch.end)  # The record that made the batch's maximum is below log start.
            if at < partition.marks.flushed:
                return await self.find_timestamp(timestamp)  # Flushed while we waited, and more with it.
        return None

    async def find_max_timestamp(self) -> tuple[Offset, int] | None:
        """The first record with the highest timestamp."""
        partition = self._partition
        partition.check_alive()
        log_start = partition.marks.log_start
        cut = await self._highest_of_cut_segment(log_start)
        if partition.marks.log_start != log_start:
            return await self.find_max_timestamp()
        whole = [each.max_timestamp for each in partition.manifest.segments if each.base >= log_start]
        highest = max([cut, *whole, *partition.tail.max_timestamps(partition.marks.high_watermark)])
        return await self.find_timestamp(highest) if highest >= 0 else None

    async def _highest_of_cut_segment(self, log_start: int) -> int:
        """The highest timestamp of what is left of the first segment: the record that made its maximum may be gone."""
        partition = self._partition
        info = partition.manifest.segments.holding(log_start)
        if info is None or info.base == log_start:
            return NO_TIMESTAMP
        try:
            return await partition.ground.calls.run(self._highest_from_start, info, log_start)
        except NotFound:
            await look_again(partition, self._commits.refresh, info, log_start)
            return await self._highest_of_cut_segment(log_start)
        except Unavailable as failure:
            raise ColdReadFailed(partition.home.path, log_start, failure) from failure

    def _highest_from_start(self, info: SegmentInfo, log_start: int) -> int:
        found = self._partition.ground.reader.read(info, log_start, info.size)
        batches = found.whole().batches()
        return max((_highest_from(header, batch, log_start) for header, batch in batches), default=NO_TIMESTAMP)


def _highest_from(header: BatchHeader, batch: memoryview, at: int) -> int:
    if header.base_offset >= at:
        return header.max_timestamp
    try:
        return max((each.timestamp for each in read_records(batch) if (each.offset or 0) >= at), default=NO_TIMESTAMP)
    except UNREADABLE:
        return header.max_timestamp


def _first_at(batch: memoryview, timestamp: int, at: int) -> tuple[Offset, int] | None:
    try:
        for record in read_records(batch):
            assert record.offset is not None
            if record.timestamp >= timestamp and record.offset >= at:
                return Offset(record.offset), record.timestamp
    except UNREADABLE:  # Nobody can say more than the header does; readers step over the batch.
        header = read_header(batch)
        return Offset(max(header.base_offset, at)), header.max_timestamp
    return None
