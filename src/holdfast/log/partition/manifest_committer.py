"""Flushes of one partition: durable batches → one segment → the store → the manifest → the tail lets go of them.

Whatever fails on the way, the batches are still in the tail and in the write-ahead log, and are tried again under
another name. Only the committed manifest moves `flushed`.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from holdfast.errors import Fenced, Rejected
from holdfast.io.objects import Exists, Objects, StoreFailed, StoreTimedOut
from holdfast.log import entry
from holdfast.log.background.retention import is_too_old, new_log_start
from holdfast.log.errors import CommitOvertaken, OutOfRange
from holdfast.log.partition.mend import check_same, mend
from holdfast.log.partition.producers import ProducerTable
from holdfast.log.partition.state import PartitionState
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.log.settings import LogSettings
from holdfast.segment.errors import DoesNotFit
from holdfast.segment.manifest.changes import Append, Change, RaiseEpoch, RaiseLogStart, Replace
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.names import new_tag
from holdfast.segment.producers import Producers
from holdfast.segment.writer import encode_segment
from holdfast.types import Buffer, Epoch, Offset

_BATCHES_MAX = 1 << 16  # Of one flush: as objects with their bytes, tiny ones take many times what a segment does.


class ManifestCommitter:
    """What changes one partition's manifest, one change at a time."""

    def __init__(self, partition: PartitionState) -> None:
        self._partition = partition
        self._lock = asyncio.Lock()
        self._unsure = False  # The last commit got no clear answer: it may have happened.
        self.end = 0  # Up to where a flush is under way.
        self._told_deleted = 0  # The write-ahead log knows that records below this are deleted.
        self._stored_ms: dict[str, int] = {}  # When the first segment was put, if that had to be asked for.

    @property
    def is_busy(self) -> bool:
        return self._lock.locked()

    async def flush(self) -> bool:
        partition = self._partition
        async with self._lock:
            partition.check_alive()
            await self._become_sure()
            taken = self._take()
            if not taken:
                return False
            self.end = taken[-1].end
            try:
                await self._store(taken)
            finally:
                self.end = 0
            return True

    def _take(self) -> list[TailBatch]:
        """Durable batches from the beginning of the tail, as many as make one segment."""
        partition = self._partition
        taken: list[TailBatch] = []
        size = 0
        for batch in partition.tail:
            if batch.end > partition.marks.durable or len(taken) == _BATCHES_MAX:
                break
            if taken and size + batch.size > partition.ground.pace.segment_size_max:
                break
            taken.append(batch)
            size += batch.size
        return taken

    async def _store(self, taken: list[TailBatch]) -> None:
        partition = self._partition
        ground = partition.ground
        stored_at = ground.clock.boottime()
        buffers: list[Buffer] = [*await partition.bytes_of(taken)]
        try:
            after, data, info = await self._encode(taken, buffers)
        except Rejected:  # Memory is not what it was when the batches were acknowledged.
            partition.check_alive()
            after, data, info = await self._encode(taken, await mend(ground, partition.home, taken, buffers))
        partition.check_alive()
        await self._put(info, data)
        partition.check_alive()  # Deleted or fenced meanwhile: the segment stays unlisted, and is collected.
        await self._commit(*self._epoch_changes(), _append(info, after, stored_at))

    async def _encode(self, taken: list[TailBatch], buffers: list[Buffer]) -> tuple[_After, list[Buffer], SegmentInfo]:
        """One segment of these batches, each held against its crc and its place; Rejected if one is not as it was."""
        partition = self._partition
        ground = partition.ground
        before = _Before(partition.manifest, partition.producers.forgotten_below, partition.running_ms)
        after = await ground.calls.local(_after, before, taken, buffers, ground.settings)
        data, info = await ground.calls.local(
            encode_segment,
            buffers,
            home=partition.home,
            epoch=Epoch(partition.epochs.at(taken[0].base)),
            tag=new_tag(ground.chance),
            producers=after.wrote,
            aborted=partition.transactions.aborted_with_marker_in(taken[0].base, taken[-1].end),
        )
        return after, data, info

    async def _put(self, info: SegmentInfo, data: list[Buffer]) -> None:
        ground = self._partition.ground
        number = ground.pace.number
        try:
            await ground.calls.run(_put, ground.objects, info, data)
        except StoreTimedOut:
            ground.pace.note_timeout(number)
            raise
        ground.pace.note_success(number)

    def _epoch_changes(self) -> list[Change]:
        partition = self._partition
        return [RaiseEpoch(each.epoch, each.start) for each in partition.epochs.above(partition.manifest.epoch)]

    async def _commit(self, *changes: Change) -> None:
        partition = self._partition
        partition.check_alive()
        partition.offer([each for each in changes if isinstance(each, Append)])
        self._unsure = True  # Until the answer is here: who is cancelled while waiting for it does not know it either.
        try:
            manifest = await partition.ground.calls.run(partition.manifests.commit, *changes)
        except Fenced as failure:
            partition.fail(failure)
            raise
        except DoesNotFit as failure:  # A commit of ours that had been given up was stored in the end.
            raise CommitOvertaken(partition.home.path, failure) from failure
        partition.adopt(manifest)
        self._unsure = False

    async def _become_sure(self) -> None:
        """After a commit without a clear answer, look what became of it before anything else is tried."""
        if self._unsure:
            await self.refresh()
            self._unsure = False

    async def refresh(self) -> Manifest:
        """Load the newest manifest."""
        partition = self._partition
        try:
            manifest = await partition.ground.calls.run(partition.manifests.refresh)
        except Fenced as failure:
            partition.fail(failure)
            raise
        if manifest.epoch > partition.epochs.current:
            partition.fail(Fenced(f"partition {partition.home.path} has a writer with epoch {manifest.epoch}"))
        partition.check_alive()
        partition.adopt(manifest)
        return manifest

    async def raise_epoch(self) -> None:
        """Take the partition over: whoever wrote in a lower epoch is fenced from here on."""
        async with self._lock:
            changes = self._epoch_changes()
            if changes:
                await self._commit(*changes)

    async def settled(self) -> None:
        async with self._lock:
            pass

    async def delete_records(self, before: int) -> Offset:
        partition = self._partition
        marks = partition.marks
        if not 0 <= before <= marks.high_watermark:
            raise OutOfRange(before, marks.log_start, marks.high_watermark)
        await partition.durable.reached(before)
        while partition.marks.flushed < before:
            await self.flush()
        async with self._lock:
            await self._become_sure()
            await self._raise_log_start(before)
            await self._tell_deleted(before)
        return partition.marks.log_start

    async def _tell_deleted(self, below: int) -> None:
        """The write-ahead log may still hold them, and be read without the store: it has to know, before anybody is
        told that they are deleted."""
        if below <= self._told_deleted:
            return
        ground, home = self._partition.ground, self._partition.home
        prefix = entry.encode_prefix(entry.DELETE_RECORDS, home)
        ground.journal.append(prefix, (entry.encode_offset(below),), lambda _: None, 0)
        await ground.calls.local(ground.journal.sync)
        self._told_deleted = below

    async def replace_segments(self, change: Replace) -> None:
        """Swap compacted segments in for those they were made of; CommitOvertaken when these are gone."""
        async with self._lock:
            self._partition.check_alive()
            await self._become_sure()
            await self._commit(change)

    async def _raise_log_start(self, log_start: int) -> None:
        if log_start > self._partition.manifest.log_start:
            await self._commit(RaiseLogStart(Offset(log_start)))

    async def apply_retention(self) -> bool:
        """Drop whole segments that are too old or too much; a tail that is too old is flushed first."""
        partition = self._partition
        now_ms = partition.ground.time.now_ms()
        first = partition.tail.first
        if first is not None and is_too_old(first.max_timestamp, partition.settings, now_ms):
            await self.flush()
        async with self._lock:
            partition.check_alive()
            await self._become_sure()
            before = partition.marks.log_start
            await self._raise_log_start(await self._new_log_start(now_ms))
            return partition.marks.log_start > before

    async def _new_log_start(self, now_ms: int) -> Offset:
        """Where the log should start. A segment that claims to be of the future is as old as the store says it is."""
        partition = self._partition
        stored_ms: dict[str, int] = {}
        while True:
            log_start = new_log_start(partition.manifest, partition.settings, now_ms, stored_ms)
            first = next((each for each in partition.manifest.segments if each.base >= log_start), None)
            if (
                first is None
                or first.max_timestamp <= now_ms
                or first.name in stored_ms
                or partition.settings.retention_ms < 0
                or "delete" not in partition.settings.cleanup
            ):
                return log_start
            if first.name not in self._stored_ms:
                self._stored_ms = {
                    first.name: await partition.ground.calls.run(_stored_ms, partition.ground.objects, first)
                }
            stored_ms |= self._stored_ms


def _stored_ms(objects: Objects, info: SegmentInfo) -> int:
    """When a segment was put, by the store's clock."""
    found = next((each for each in objects.list(info.name) if each.name == info.name), None)
    return info.max_timestamp if found is None else found.modified_ms


def _put(objects: Objects, info: SegmentInfo, data: list[Buffer]) -> None:
    try:
        objects.put_if_absent(info.name, data)
    except Exists:
        # The name is random and used once, so what is there is our own put, tried again below us after a lost answer.
        if objects.size(info.name) != info.size:
            raise StoreFailed("put", info.name, "another object has its name") from None


class _Before(NamedTuple):
    """What is known of producers in front of some batches."""

    manifest: Manifest
    forgotten_below: int  # Where the manifest does not say it.
    running_ms: int  # By now.

    def table(self) -> ProducerTable:
        known = self.manifest.forgotten_below
        return ProducerTable(self.manifest.producers, self.forgotten_below if known is None else known)


class _After(NamedTuple):
    """What is known of producers behind some batches."""

    producers: Producers
    wrote: Producers  # Those of them that wrote these batches.
    undecided: int | None  # Where the first open transaction begins.
    forgotten_below: int | None
    running_ms: int


def _after(before: _Before, batches: list[TailBatch], buffers: list[Buffer], settings: LogSettings) -> _After:
    """The producers as of the end of these batches, which continue the manifest, without those long silent.

    Their bytes must be what was acknowledged: nothing may be learned from, nor stored of, any others. They came before
    now, so nobody is forgotten early by taking them as heard of now.
    """
    table, now_ms = before.table(), before.running_ms
    writers = {}
    for batch, buffer in zip(batches, buffers, strict=True):
        header = check_same(batch, buffer)
        table.apply(header, memoryview(buffer), now_ms)
        writers[header.producer_id] = True
    table.expire(now_ms - settings.producer_expiry_ms)
    table.limit(settings.producer_ids_max)
    undecided = min(table.open_transactions().values(), default=None)
    return _After(table.snapshot(), table.of(writers), undecided, table.forgotten_below, now_ms)


def _append(info: SegmentInfo, after: _After, stored_at: float) -> Append:
    last_stable = Offset(info.end if after.undecided is None else after.undecided)
    return Append((info,), last_stable, after.producers, stored_at, after.forgotten_below, after.running_ms)
