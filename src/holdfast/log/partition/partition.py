"""One partition, as the logs hand it out: appends and acks, waits, and the way to what works on its state.

Reads are in `read`, look-ups by time in `lookup`, flushes and all else that changes the manifest in
`manifest_committer`, compaction in `background.compaction`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from holdfast.log import entry
from holdfast.log.background.compaction import compact
from holdfast.log.context import LogContext
from holdfast.log.errors import PartitionDeleted
from holdfast.log.partition.lookup import Lookup
from holdfast.log.partition.manifest_committer import ManifestCommitter
from holdfast.log.partition.read import Read, Reading
from holdfast.log.partition.state import PartitionState
from holdfast.log.partition.tail import Tail
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.log.settings import PartitionSettings
from holdfast.record.batch import BatchHeader, check, place, split, stamp_log_append_time
from holdfast.record.errors import TooLarge
from holdfast.record.layout import HEADER_SIZE, LENGTH_END, NO_PRODUCER
from holdfast.record.marker import Marker, build_marker
from holdfast.segment.manifest.log import ManifestLog
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import Buffer, Offset, PartitionId

READ_RECORDS_MAX = 100
READ_SIZE_MAX = 4 << 20


class Appended(NamedTuple):
    """Where a batch is."""

    base_offset: Offset
    end_offset: Offset
    append_time_ms: int  # -1 unless the topic stamps its own time.
    repeated: bool = False  # It was appended before; this is where.


_new_appended = partial(tuple.__new__, Appended)  # One for each batch.


class PartitionLog(PartitionState):
    """One partition's log. Made by `Logs`."""

    def __init__(
        self, ground: LogContext, home: PartitionId, settings: PartitionSettings, manifests: ManifestLog, replayed: Tail
    ) -> None:
        super().__init__(ground, home, settings, manifests, replayed)
        self._prefix = entry.encode_prefix(entry.BATCHES, home)
        self._commits = ManifestCommitter(self)
        self._reads = Reading(self, self._commits)
        self._lookups = Lookup(self, self._commits)
        self._compacting = asyncio.Lock()

    # Writing

    async def append(self, batches: Buffer) -> Appended:
        """Append one or more batches and wait until they are acknowledged. Returns the place of all of them."""
        await self.ground.room()
        places = [self.append_one(header, batch) for header, batch in self.check_batches(batches)]
        end = max(place.end_offset for place in places)  # A repeat may come last, and lie far below.
        await self.acknowledged(end)
        return Appended(places[0].base_offset, end, *places[0][2:])

    def check_batches(self, batches: Buffer) -> list[tuple[BatchHeader, memoryview]]:
        """Hold all batches of a request against every rule, before the first of them is appended."""
        self.check_alive()
        view = memoryview(batches)
        if view.readonly:
            view = memoryview(bytearray(view))  # Offsets are stamped in place.
        size_max = self.settings.batch_size_max
        if view and len(view) == _stated_size(view):
            return [(check(view, size_max), view)]  # One batch, as from every client of today.
        found = list(split(view))
        if not found:
            raise ValueError("append needs at least one batch")
        return [(check(batch, size_max), batch) for _, batch in found]

    def check_one(self, header: BatchHeader) -> None:
        """The same for one batch that was held against every rule but this partition's own."""
        self.check_alive()
        if header.size > self.settings.batch_size_max:
            raise TooLarge(header.size, self.settings.batch_size_max)

    def append_one(self, header: BatchHeader, batch: memoryview) -> Appended:
        """Append a checked batch, without waiting. Stamps it in place; its bytes must not change any more."""
        self.check_alive()
        stamps_time = self.settings.timestamp_type == "log_append"
        is_plain = header.producer_id == NO_PRODUCER and not header.is_transactional
        repeat = None if is_plain else self.producers.find_repeat(header)
        if repeat is not None:
            base = Offset(repeat.base_offset)
            append_time_ms = repeat.timestamp if stamps_time else -1
            return Appended(base, Offset(base + header.last_offset_delta + 1), append_time_ms, repeated=True)
        append_time_ms = -1
        latest_ms = header.max_timestamp
        if stamps_time and not header.is_control:
            append_time_ms = latest_ms = self.ground.time.stamp_ms()
            stamp_log_append_time(batch, append_time_ms)
        ground, base, epoch = self.ground, self.marks.log_end, self.epochs.current
        header = place(batch, header, base, epoch, latest_ms)
        end = Offset(base + header.last_offset_delta + 1)
        index = ground.journal.append(self._prefix, (batch,), self._note_durable, end)
        self.tail.add(TailBatch(header, batch, index, 0, ground.clock.monotonic()))
        if not is_plain:  # Nobody remembers anything of the others, and their epoch is known.
            self.note_batch(header, batch)
        self._move_end(end, header.size)
        appended: Appended = _new_appended((base, end, append_time_ms, False))
        return appended

    def append_many(self, batches: Sequence[tuple[BatchHeader, memoryview]]) -> tuple[int, int]:
        """The same for checked batches of clients that repeat nothing, as one entry; where they begin and end.

        For topics that take batches as they are.
        """
        self.check_alive()
        ground, base, epoch = self.ground, self.marks.log_end, self.epochs.current
        end, placed = int(base), []
        for header, batch in batches:
            placed.append(place(batch, header, end, epoch, header.max_timestamp))
            end += header.last_offset_delta + 1
        index = ground.journal.append(self._prefix, [batch for _, batch in batches], self._note_durable, end)
        now, start, add = ground.clock.monotonic(), 0, self.tail.add
        for header, (_, batch) in zip(placed, batches, strict=True):
            add(TailBatch(header, batch, index, start, now))
            start += header.size
            if header.producer_id != NO_PRODUCER:
                self.note_batch(header, batch)
        self._move_end(end, start)
        return base, end

    def _move_end(self, end: int, size: int) -> None:
        """So many bytes more are in the tail, up to `end`."""
        self.marks = marks = self.marks.appended(end, visible=self.settings.durability == "memory")
        if marks.high_watermark > self.high_watermark.value:
            self.high_watermark.advance(marks.high_watermark)
            self._tell()
        self.ground.on_growth(self, size)

    def append_marker(self, marker: Marker) -> Appended:
        """Append the end of a producer's transaction. A repeated one is harmless."""
        self.check_alive()
        self.producers.check_marker(marker)
        batch = memoryview(build_marker(marker))
        return self.append_one(check(batch, len(batch) + HEADER_SIZE, from_client=False), batch)

    async def acknowledged(self, end: int) -> None:
        """Wait until everything below `end` may be acknowledged: a repeat waits for its original, too."""
        if self.settings.durability == "fsync":
            await self.durable.reached(end)

    # Reading

    @property
    def reads_by_place(self) -> Mapping[str, int]:
        """How often it was read from where, since it was opened."""
        return self._reads.places

    async def read(
        self,
        offset: int,
        max_records: int | None = READ_RECORDS_MAX,
        max_bytes: int = READ_SIZE_MAX,
        *,
        committed: bool = False,
        in_pieces: bool = False,
    ) -> Read:
        """Batches from `offset` on. Depends on no earlier call, and waits for no writer.

        Who only sends them on takes them in pieces, with no copy of those that lie in two blocks of the cache.
        """
        return await self._reads.read(offset, max_records, max_bytes, committed=committed, in_pieces=in_pieces)

    async def wait(self, offset: int, timeout: float | None = None) -> bool:
        """Wait until `offset` is readable; False on timeout."""
        self.check_alive()
        reached = self.high_watermark.reached(offset + 1)
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reached, timeout)
                return True
            return False
        finally:
            reached.cancel()

    async def find_timestamp(self, timestamp: int) -> tuple[Offset, int] | None:
        """The first record at or after a time, as its offset and its time."""
        return await self._lookups.find_timestamp(timestamp)

    async def find_max_timestamp(self) -> tuple[Offset, int] | None:
        """The record with the highest timestamp."""
        return await self._lookups.find_max_timestamp()

    def end_of_epoch(self, epoch: int) -> tuple[int, int] | None:
        """The largest known epoch not above this one, and where it ends."""
        return self.epochs.end_of(epoch, self.marks.log_end)

    # Storing

    def change_settings(self, settings: PartitionSettings) -> None:
        """The topic has other settings: what is in the tail may be due earlier by them."""
        self.settings = settings
        self.ground.on_change(self)

    async def flush(self) -> bool:
        """Move durable batches into one segment; False if there were none."""
        return await self._commits.flush()

    @property
    def is_flushing(self) -> bool:
        return self._commits.end > 0

    @property
    def is_storing(self) -> bool:
        """Whether anything is being put into the store for it."""
        return self._commits.is_busy or self._compacting.locked()

    async def delete_records(self, before: int) -> Offset:
        """Let go of everything below an offset; -1 stands for the high watermark. The new log start."""
        return await self._commits.delete_records(self.marks.high_watermark if before == -1 else before)

    async def apply_retention(self) -> bool:
        """Let go of what is too old or too much; whether anything was."""
        return await self._commits.apply_retention()

    async def compact(self) -> int:
        """Keep the last record of each key, or merge small segments; the number of segments that were replaced."""
        async with self._compacting:
            return await compact(self, self._commits)

    async def refresh_manifest(self) -> Manifest:
        """Load the newest manifest: someone else, such as compaction, may have committed."""
        return await self._commits.refresh()

    async def take_over(self) -> None:
        """Commit our epoch before anything else, so that a writer in a lower one is fenced."""
        await self._commits.raise_epoch()

    async def settled(self) -> None:
        """Wait until no flush, and nothing else that puts objects, is under way."""
        await self._commits.settled()
        async with self._compacting:
            pass

    # The end

    def delete(self) -> None:
        """The topic is deleted: nothing of it is needed any more."""
        self.tail.clear()
        self.fail(PartitionDeleted(self.home.path))


async def wait_any(waits: Sequence[tuple[PartitionLog, int]], timeout: float | None = None) -> list[int]:
    """Wait until one of the offsets is readable; the numbers of all that are, none on timeout."""
    if not waits:
        return []
    reached = [partition.high_watermark.reached(offset + 1) for partition, offset in waits]
    try:
        await asyncio.wait(reached, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        return [number for number, each in enumerate(reached) if each.done()]
    finally:
        for each in reached:
            each.cancel()


def _stated_size(batch: memoryview) -> int:
    """How long the batch at the beginning says it is; 0 when it is too short to say so."""
    return int.from_bytes(batch[8:LENGTH_END], "big", signed=True) + LENGTH_END if len(batch) >= LENGTH_END else 0
