"""One partition: appends, acks, marks, waits. Reads are in `read`, flushes in `flush`, look-ups in `lookup`.

Everything here happens on one event loop and without a pause in between, so whoever looks sees the tail, the marks and
the manifest of the same moment: an offset is in a committed segment, or in the tail, and never in neither.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import NamedTuple

from holdfast.log import entry
from holdfast.log.background.compaction import compact
from holdfast.log.context import LogContext
from holdfast.log.errors import PartitionDeleted
from holdfast.log.partition.epochs import Epochs
from holdfast.log.partition.lookup import Lookup
from holdfast.log.partition.manifest_committer import ManifestCommitter
from holdfast.log.partition.marks import Marks
from holdfast.log.partition.producers import ProducerTable, Transactions
from holdfast.log.partition.read import Read, Reading
from holdfast.log.partition.tail import Tail
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.log.settings import PartitionSettings
from holdfast.record.batch import BatchHeader, check, read_header, split, stamp, stamp_log_append_time
from holdfast.record.layout import HEADER_SIZE, LENGTH_END
from holdfast.record.marker import Marker, build_marker
from holdfast.segment.errors import AnotherProcess
from holdfast.segment.manifest.changes import Append, Replace
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.manifest.log import ManifestLog
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import Buffer, Offset, PartitionId
from holdfast.watermark import Watermark

READ_RECORDS_MAX = 100
READ_SIZE_MAX = 4 << 20
_REPLAY_COUNT = 256  # Batches noted at a time.


class Appended(NamedTuple):
    """Where a batch is."""

    base_offset: Offset
    end_offset: Offset
    append_time_ms: int  # -1 unless the topic stamps its own time.
    repeated: bool = False  # It was appended before; this is where.


class PartitionLog:
    """One partition's log. Made by `Logs`."""

    def __init__(
        self, ground: LogContext, home: PartitionId, settings: PartitionSettings, manifests: ManifestLog, replayed: Tail
    ) -> None:
        manifest = manifests.manifest
        self.home = home
        self.settings = settings
        self.ground = ground
        self.manifests = manifests
        self.manifest: Manifest = manifest
        self.tail = replayed
        end = manifest.flushed if replayed.end is None else replayed.end
        self.marks = Marks(manifest.log_start, manifest.flushed, Offset(end), Offset(end), Offset(end))
        self._offered = Offset(end)  # Below this the store may only have what this process found here, or has put.
        manifests.lead(ground.journal.heir_of, Offset(end))
        self._opened_at, self._ran_before_ms = ground.clock.monotonic(), manifest.running_ms
        self.producers = ProducerTable(manifest.producers, _forgotten_below(manifest, settings, ground))
        self.transactions = Transactions(self.producers.open_transactions())
        self.epochs = Epochs(manifest.epochs)
        self.durable = Watermark(end)
        self.high_watermark = Watermark(end)
        self.noted = (
            Offset(0),
            False,
        )  # How far it is flushed, and whether a transaction is open, as noted.
        self.listeners: set[Callable[[], None]] = set()  # Each is told once, of the next movement that a reader sees.
        self._failure: Exception | None = None
        self._reading = Reading(self)
        self._flushing = ManifestCommitter(self)
        self._lookup = Lookup(self)
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

    def append_one(self, header: BatchHeader, batch: memoryview) -> Appended:
        """Append a checked batch, without waiting. Stamps it in place; its bytes must not change any more."""
        self.check_alive()
        stamps_time = self.settings.timestamp_type == "log_append"
        repeat = self.producers.find_repeat(header)
        if repeat is not None:
            base = Offset(repeat.base_offset)
            append_time_ms = repeat.timestamp if stamps_time else -1
            return Appended(base, Offset(base + header.last_offset_delta + 1), append_time_ms, repeated=True)
        append_time_ms = -1
        latest_ms = header.max_timestamp
        if stamps_time and not header.is_control:
            append_time_ms = latest_ms = self.ground.time.stamp_ms()
            stamp_log_append_time(batch, append_time_ms)
        base, epoch = self.marks.log_end, self.epochs.current
        stamp(batch, base, epoch)
        header = header._replace(base_offset=base, leader_epoch=epoch, max_timestamp=latest_ms)
        end = header.end_offset
        index = self.ground.journal.append(entry.BATCHES, self.home, batch, self._note_durable, end)
        self.tail.add(TailBatch(header, batch, index, 0, self.ground.clock.monotonic()))
        self.note_batch(header, batch)
        self.marks = self.marks.appended(end, visible=self.settings.durability == "memory")
        if self.marks.high_watermark > self.high_watermark.value:
            self.high_watermark.advance(self.marks.high_watermark)
            self._tell()
        self.ground.on_change(self)
        return Appended(base, Offset(end), append_time_ms)

    def append_marker(self, marker: Marker) -> Appended:
        """Append the end of a producer's transaction. A repeated one is harmless."""
        self.check_alive()
        self.producers.check_marker(marker)
        batch = memoryview(build_marker(marker))
        return self.append_one(check(batch, len(batch) + HEADER_SIZE, from_client=False), batch)

    def note_batch(self, header: BatchHeader, batch: memoryview) -> None:
        """Let producers, transactions and epochs know of a batch in the tail."""
        self.epochs.note(header.leader_epoch, header.base_offset)
        ended = self.producers.apply(header, batch, self.running_ms)
        self.producers.limit(self.ground.settings.producer_ids_max)
        if ended is not None:
            self.transactions.end(ended)
        elif header.is_transactional and not header.is_control:
            self.transactions.begin(header.producer_id, header.base_offset)

    @property
    def running_ms(self) -> int:
        """For how long brokers have run with this partition, in all. Whatever clocks do, it never jumps."""
        return self._ran_before_ms + int((self.ground.clock.monotonic() - self._opened_at) * 1000)

    async def note_replayed(self) -> None:
        """Go through the tail that the write-ahead log brought back, as if it had just been appended."""
        for run in self.tail.runs:
            if run.plain and run.epoch_min == run.epoch_max:
                self.epochs.note(run.epoch_min, run.base)
            else:
                await self._note_all(list(run.batches()))
        for start in range(0, len(self.tail.in_memory), _REPLAY_COUNT):
            await self._note_all(self.tail.in_memory[start : start + _REPLAY_COUNT])

    async def _note_all(self, batches: list[TailBatch]) -> None:
        for data in await self.bytes_of(batches):
            self.note_batch(read_header(data), data)

    async def acknowledged(self, end: int) -> None:
        """Wait until everything below `end` may be acknowledged: a repeat waits for its original, too."""
        if self.settings.durability == "fsync":
            await self.durable.reached(end)

    def _note_durable(self, end: int) -> None:
        if self._failure is None:
            self.marks = self.marks.became_durable(end)
            self.durable.advance(end)
            self.high_watermark.advance(self.marks.high_watermark)
            self._tell()

    def _tell(self) -> None:
        """A mark that readers see has moved, or all is over."""
        if self.listeners:
            told, self.listeners = self.listeners, set()
            for each in told:
                each()

    # Reading

    @property
    def last_stable(self) -> Offset:
        """Below this every transaction is decided."""
        return Offset(self.transactions.last_stable(self.marks.high_watermark))

    async def read(
        self,
        offset: int,
        max_records: int | None = READ_RECORDS_MAX,
        max_bytes: int = READ_SIZE_MAX,
        *,
        committed: bool = False,
    ) -> Read:
        """Batches from `offset` on. Depends on no earlier call, and waits for no writer."""
        return await self._reading.read(offset, max_records, max_bytes, committed=committed)

    def aborted(self, start: int, end: int) -> list[Aborted]:
        """The aborted transactions with an offset in `[start, end)`."""
        return self.manifest.segments.aborted(start, end) + self.transactions.aborted(start, end)

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
        return await self._lookup.find_timestamp(timestamp)

    async def find_max_timestamp(self) -> tuple[Offset, int] | None:
        """The record with the highest timestamp."""
        return await self._lookup.find_max_timestamp()

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
        return await self._flushing.flush()

    @property
    def is_flushing(self) -> bool:
        return self._flushing.end > 0

    @property
    def is_storing(self) -> bool:
        """Whether anything is being put into the store for it."""
        return self._flushing.is_busy or self._compacting.locked()

    @property
    def flushing_end(self) -> int:
        """Up to where a flush is under way; 0 if none is."""
        return self._flushing.end

    async def delete_records(self, before: int) -> Offset:
        """Let go of everything below an offset; -1 stands for the high watermark. The new log start."""
        return await self._flushing.delete_records(self.marks.high_watermark if before == -1 else before)

    async def apply_retention(self) -> bool:
        """Let go of what is too old or too much; whether anything was."""
        return await self._flushing.apply_retention()

    async def compact(self) -> int:
        """Keep the last record of each key, or merge small segments; the number of segments that were replaced."""
        async with self._compacting:
            return await compact(self)

    async def replace_segments(self, change: Replace) -> None:
        """Swap compacted segments in for those they were made of; CommitOvertaken when these are gone."""
        await self._flushing.replace_segments(change)

    def offer(self, appends: list[Append]) -> None:
        """These are about to be committed: no more than their end may be let go of when they are."""
        self._offered = max([self._offered, *(each.segments[-1].end for each in appends if each.segments)])

    def adopt(self, manifest: Manifest) -> None:
        """A newer manifest is committed: from this moment on reads find there what the tail lets go of."""
        if manifest.version <= self.manifest.version:
            return
        if manifest.flushed > self._offered:  # The manifest log refuses it: this is the second lock on the same door.
            self.fail(AnotherProcess(self.home.manifests, manifest.epoch, manifest.flushed))
            self.check_alive()
        self.manifest = manifest
        log_start = self.marks.log_start
        self.marks = self.marks.stored(manifest.log_start, manifest.flushed)
        before = self.tail.size
        self.tail.release(manifest.flushed)
        if self.tail.size < before:
            self.ground.flushed.add(before - self.tail.size)
        self.transactions.release(manifest.flushed)
        if self.damaged:
            self.ground.damage.keep_only(self.home.path, [each.name for each in manifest.segments])
        if self.marks.log_start > log_start:
            self._tell()
        self.ground.on_change(self)

    async def refresh_manifest(self) -> Manifest:
        """Load the newest manifest: someone else, such as compaction, may have committed."""
        return await self._flushing.refresh()

    async def take_over(self) -> None:
        """Commit our epoch before anything else, so that a writer in a lower one is fenced."""
        await self._flushing.raise_epoch()

    async def settled(self) -> None:
        """Wait until no flush, and nothing else that puts objects, is under way."""
        await self._flushing.settled()
        async with self._compacting:
            pass

    async def bytes_of(self, batches: list[TailBatch]) -> list[memoryview]:
        """The bytes of batches of the tail; those of spilled ones come from the write-ahead log."""
        held = [batch.data for batch in batches]  # Looked at once: a batch may be spilled while we wait.
        spilled = [
            (each.index, each.start, each.size) for each, data in zip(batches, held, strict=True) if data is None
        ]
        found = iter(await self.ground.calls.local(self.ground.journal.read_back, spilled) if spilled else [])
        return [data if data is not None else next(found) for data in held]

    # The end

    def check_alive(self) -> None:
        if self._failure is not None:
            raise self._failure

    @property
    def is_alive(self) -> bool:
        return self._failure is None

    @property
    def failure(self) -> Exception | None:
        """What stopped it, if anything did."""
        return self._failure

    @property
    def damaged(self) -> int:
        """How many things of it, such as segments, are known to be damaged or gone."""
        return self.ground.damage.count_of(self.home.path)

    def fail(self, failure: Exception) -> None:
        """Stop for good: everybody who waits is told, and everybody who comes later."""
        if self._failure is None:
            self._failure = failure
            self.durable.fail(failure)
            self.high_watermark.fail(failure)
            self._tell()
            self.ground.on_change(self)

    def delete(self) -> None:
        """The topic is deleted: nothing of it is needed any more."""
        self.tail.clear()
        self.fail(PartitionDeleted(self.home.path))


def _forgotten_below(manifest: Manifest, settings: PartitionSettings, ground: LogContext) -> int:
    """Producers with lower ids may have been known, and their sequences may go on from anywhere.

    Where nobody can tell who was forgotten, and where a crash forgets, these are all that exist.
    """
    known = manifest.forgotten_below
    if known is None or settings.durability == "memory":
        return max(known or 0, ground.producer_ids.end())
    return known


def _stated_size(batch: memoryview) -> int:
    """How long the batch at the beginning says it is; 0 when it is too short to say so."""
    return int.from_bytes(batch[8:LENGTH_END], "big", signed=True) + LENGTH_END if len(batch) >= LENGTH_END else 0
