"""What one partition is at a moment, and what may become of it: appends are noted, manifests adopted, or it ends.

Everything here happens on one event loop and without a pause in between, so whoever looks sees the tail, the marks and
the manifest of the same moment: an offset is in a committed segment, or in the tail, and never in neither.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.log.context import LogContext
from holdfast.log.partition.epochs import Epochs
from holdfast.log.partition.marks import Marks
from holdfast.log.partition.producers import ProducerTable, Transactions
from holdfast.log.partition.tail import Tail
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.log.settings import PartitionSettings
from holdfast.record.batch import BatchHeader, read_header
from holdfast.segment.errors import AnotherProcess
from holdfast.segment.manifest.changes import Append
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.manifest.log import ManifestLog
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import Offset, PartitionId
from holdfast.watermark import Watermark

_REPLAY_COUNT = 256  # Batches noted at a time.


class PartitionState:
    """What reads, look-ups, commits and compaction of a partition work on. `PartitionLog` is one that can be asked."""

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
        self.noted = Offset(0), False  # How far it is flushed, and whether a transaction is open, as a purge knows it.
        self.listeners: set[Callable[[], None]] = set()  # Each is told once, of the next movement that a reader sees.
        self._failure: Exception | None = None

    # Batches

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

    async def bytes_of(self, batches: list[TailBatch]) -> list[memoryview]:
        """The bytes of batches of the tail; those of spilled ones come from the write-ahead log."""
        held = [batch.data for batch in batches]  # Looked at once: a batch may be spilled while we wait.
        spilled = [
            (each.index, each.start, each.size) for each, data in zip(batches, held, strict=True) if data is None
        ]
        found = iter(await self.ground.calls.local(self.ground.journal.read_back, spilled) if spilled else [])
        return [data if data is not None else next(found) for data in held]

    # Marks

    def _note_durable(self, end: int) -> None:
        if self._failure is None:
            self.marks = self.marks.became_durable(end)
            self.high_watermark.advance(self.marks.high_watermark)
            self.durable.advance(end)
            self._tell()

    def _tell(self) -> None:
        """A mark that readers see has moved, or all is over."""
        if self.listeners:
            told, self.listeners = self.listeners, set()
            for each in told:
                each()

    @property
    def last_stable(self) -> Offset:
        """Below this every transaction is decided."""
        return Offset(self.transactions.last_stable(self.marks.high_watermark))

    def aborted(self, start: int, end: int) -> list[Aborted]:
        """The aborted transactions with an offset in `[start, end)`."""
        return self.manifest.segments.aborted(start, end) + self.transactions.aborted(start, end)

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


def _forgotten_below(manifest: Manifest, settings: PartitionSettings, ground: LogContext) -> int:
    """Producers with lower ids may have been known, and their sequences may go on from anywhere.

    Where nobody can tell who was forgotten, and where a crash forgets, these are all that exist.
    """
    known = manifest.forgotten_below
    if known is None or settings.durability == "memory":
        return max(known or 0, ground.producer_ids.end())
    return known
