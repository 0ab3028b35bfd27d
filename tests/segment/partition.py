"""A partition in memory: appends, compaction, and reading everything back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.versions import VersionRetries
from holdfast.record.batch import BatchHeader
from holdfast.record.build import build
from holdfast.record.marker import Marker, MarkerKind, build_marker
from holdfast.record.records import Record, read_records
from holdfast.segment.cached.blocks import BlockCache
from holdfast.segment.cached.read import SegmentReader
from holdfast.segment.compaction.keys import KeyRules, compact_keys
from holdfast.segment.compaction.rewrite import RewriteContext
from holdfast.segment.manifest.changes import Append
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.manifest.log import ManifestLog
from holdfast.segment.names import new_tag
from holdfast.segment.producers import ProducerState
from holdfast.segment.writer import encode_segment
from holdfast.types import PartitionId

HOME = PartitionId(UUID(int=9), 0)
RETENTION_MS = 1_000_000
RULES = KeyRules(tombstone_retention_ms=RETENTION_MS)
PRODUCERS = {4: ProducerState(4, 0)}


@dataclass
class Partition:
    """What a test does to it, in one line each."""

    segment_size_max: int = 1 << 20
    clock: ManualClock = field(default_factory=ManualClock)
    chance: SeededChance = field(default_factory=lambda: SeededChance(11))
    pending: list[bytes] = field(default_factory=list)
    aborted: list[Aborted] = field(default_factory=list)
    next_offset: int = 0

    def __post_init__(self):
        self.objects = MemoryObjects(clock=self.clock)
        patience = VersionRetries(self.clock, self.chance, self.clock.advance)
        self.log = ManifestLog.open(self.objects, HOME, cluster_id="c", writer="w", patience=patience, first_epoch=1)

    @property
    def shop(self):
        return RewriteContext(self.objects, HOME, 1, self.clock, self.chance, self.segment_size_max)

    def add(self, *pairs, codec=0, producer=-1, transactional=False):
        """One batch of (key, value) pairs."""
        rows = [Record(key, value, 1000 + self.next_offset + n) for n, (key, value) in enumerate(pairs)]
        batch = build(
            rows, base_offset=self.next_offset, codec=codec, producer_id=producer, producer_epoch=0,
            transactional=transactional, leader_epoch=1,
        )  # fmt: skip
        self.pending.append(bytes(batch))
        self.next_offset += len(pairs)

    def end_transaction(self, producer, first_offset, kind, still_open=()):
        """A marker; `still_open` are the first offsets of the other transactions under way."""
        offset = self.next_offset
        self.pending.append(bytes(build_marker(Marker(kind, producer, 0, 0, 1000), base_offset=offset)))
        self.next_offset += 1
        if kind == MarkerKind.ABORT:
            self.aborted.append(Aborted(producer, first_offset, offset, min(still_open, default=offset + 1)))

    def flush(self, last_stable=None):
        if not self.pending:
            return
        stored_at = self.clock.monotonic()
        buffers, info = encode_segment(
            self.pending, home=HOME, epoch=1, tag=new_tag(self.chance), aborted=self.aborted, producers=PRODUCERS
        )
        self.objects.put_if_absent(info.name, buffers)
        self.log.commit(Append((info,), info.end if last_stable is None else last_stable, PRODUCERS, stored_at))
        self.pending, self.aborted = [], []

    def compact(self, end=None, rules=RULES):
        changes = 0
        end = self.next_offset if end is None else end
        for change in compact_keys(self.shop, self.log.manifest, end, self.clock.now_ms(), rules):
            self.log.commit(change)
            changes += 1
        return changes

    def batches(self) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Every batch, as a reader of the whole partition finds it."""
        reader = SegmentReader(BlockCache(self.objects, 1 << 24))
        for info in self.log.manifest.segments:
            found = reader.read(info, info.base, 1 << 30)
            assert found.next_offset == info.end
            yield from found.batches()

    def records(self):
        return [each for header, view in self.batches() if not header.is_control for each in read_records(view)]

    def contents(self):
        return [(each.offset, each.key, each.value) for each in self.records()]
