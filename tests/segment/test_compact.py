"""Compaction: the last record of each key, at its own offset, and nothing else is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.memory_objects import MemoryObjects
from holdfast.io.versions import Patience
from holdfast.record.batch import read_header, split
from holdfast.record.build import build
from holdfast.record.columns import Binary
from holdfast.record.marker import Marker, MarkerKind, build_marker
from holdfast.record.records import Record, read_records
from holdfast.segment.blocks import BlockCache
from holdfast.segment.changes import Append, RaiseLogStart
from holdfast.segment.compact import KeyRules, compact_keys, dirty_ratio
from holdfast.segment.info import Aborted
from holdfast.segment.key_map import SLOT_SIZE, KeyMap
from holdfast.segment.manifest_log import ManifestLog
from holdfast.segment.merge import merge, small_runs
from holdfast.segment.names import PartitionId, new_tag
from holdfast.segment.producers import ProducerState
from holdfast.segment.read import SegmentReader
from holdfast.segment.rewrite import Workshop
from holdfast.segment.scan import open_segment
from holdfast.segment.writer import encode_segment

HOME = PartitionId(UUID(int=9), 0)
RETENTION_MS = 1_000_000
RULES = KeyRules(tombstone_retention_ms=RETENTION_MS)


@dataclass
class Partition:
    """A partition in memory: appends, compaction, and reading everything back."""

    segment_size_max: int = 1 << 20
    clock: ManualClock = field(default_factory=ManualClock)
    chance: SeededChance = field(default_factory=lambda: SeededChance(11))
    pending: list[bytes] = field(default_factory=list)
    aborted: list[Aborted] = field(default_factory=list)
    next_offset: int = 0

    def __post_init__(self):
        self.objects = MemoryObjects(clock=self.clock)
        patience = Patience(self.clock, self.chance, self.clock.advance)
        self.log = ManifestLog.open(self.objects, HOME, cluster_id="c", writer="w", patience=patience, first_epoch=1)

    @property
    def shop(self):
        return Workshop(self.objects, HOME, 1, self.clock, self.chance, self.segment_size_max)

    def add(self, *pairs, codec=0, producer=-1, transactional=False):
        """One batch of (key, value) pairs."""
        rows = [Record(key, value, 1000 + self.next_offset + n) for n, (key, value) in enumerate(pairs)]
        batch = build(
            rows, base_offset=self.next_offset, codec=codec, producer_id=producer, producer_epoch=0,
            transactional=transactional, leader_epoch=1,
        )  # fmt: skip
        self.pending.append(bytes(batch))
        self.next_offset += len(pairs)

    def end_transaction(self, producer, first_offset, kind):
        offset = self.next_offset
        self.pending.append(bytes(build_marker(Marker(kind, producer, 0, 0, 1000), base_offset=offset)))
        self.next_offset += 1
        if kind == MarkerKind.ABORT:
            self.aborted.append(Aborted(producer, first_offset, offset, offset + 1))

    def flush(self, last_stable=None):
        if not self.pending:
            return
        producers = {4: ProducerState(4, 0)}
        stored_at = self.clock.monotonic()
        buffers, info = encode_segment(
            self.pending, home=HOME, epoch=1, tag=new_tag(self.chance), aborted=self.aborted, producers=producers
        )
        self.objects.put_if_absent(info.name, buffers)
        self.log.commit(Append((info,), info.end if last_stable is None else last_stable, producers, stored_at))
        self.pending, self.aborted = [], []

    def compact(self, end=None, rules=RULES):
        changes = 0
        end = self.next_offset if end is None else end
        for change in compact_keys(self.shop, self.log.manifest, end, self.clock.now_ms(), rules):
            self.log.commit(change)
            changes += 1
        return changes

    def batches(self):
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


def test_the_last_record_of_each_key_stays_at_its_offset():
    """K6: across batches and segments; the manifest still covers every offset."""
    part = Partition()
    part.add((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
    part.flush()
    part.add((b"c", b"4"))
    part.flush()
    part.add((b"b", b"5"), (b"d", b"6"))
    part.flush()
    part.compact()
    assert part.contents() == [(2, b"a", b"3"), (3, b"c", b"4"), (4, b"b", b"5"), (5, b"d", b"6")]
    manifest = part.log.manifest
    assert (manifest.segments[0].base, manifest.segments[-1].end, len(manifest.segments)) == (0, 6, 1)
    assert manifest.segments[0].compacted
    assert [each.timestamp for each in part.records()] == [1002, 1003, 1004, 1005]
    assert open_segment(part.objects, manifest.segments[0]).producers() == {4: ProducerState(4, 0)}


@pytest.mark.parametrize("codec", range(5))
def test_every_codec(codec):
    """K6: a batch that loses records keeps its codec, offsets and times."""
    part = Partition()
    part.add(*((b"%d" % (n % 7), b"v%d" % n) for n in range(50)), codec=codec)
    part.flush()
    part.compact()
    assert part.contents() == [(n, b"%d" % (n % 7), b"v%d" % n) for n in range(43, 50)]
    header, _ = next(part.batches())
    assert (header.codec, header.base_offset, header.end_offset, header.record_count) == (codec, 0, 50, 7)


def test_nothing_at_or_above_the_end_or_the_last_stable_offset_is_touched():
    """K6: neither what is too young nor what is undecided; and it does not count as a later version."""
    part = Partition()
    for n in range(10):
        part.add((b"k", b"%d" % n))
    part.flush(last_stable=6)
    part.compact(end=9)
    assert [offset for offset, _, _ in part.contents()] == [5, 6, 7, 8, 9]
    part = Partition()
    for n in range(10):
        part.add((b"k", b"%d" % n))
    part.flush()
    part.compact(end=4)
    assert [offset for offset, _, _ in part.contents()] == [3, 4, 5, 6, 7, 8, 9]
    part.compact()
    assert [offset for offset, _, _ in part.contents()] == [9]


def test_records_without_a_key_stay():
    """K6: nothing ever replaces them."""
    part = Partition()
    part.add((None, b"1"), (None, b"2"), (b"", b"3"), (b"", b"4"))
    part.flush()
    part.compact()
    assert part.contents() == [(0, None, b"1"), (1, None, b"2"), (3, b"", b"4")]


def test_tombstones_stay_for_their_time_and_then_go():
    """K6: counted from the run that left the tombstone alone, per range: later runs do not make it start again."""
    part = Partition()
    part.add((b"a", b"1"), (b"a", None), (b"b", b"2"))
    part.flush()
    part.compact()
    assert part.contents() == [(1, b"a", None), (2, b"b", b"2")]
    part.clock.advance(RETENTION_MS / 1000 * 0.6)
    part.add((b"c", None))
    part.flush()
    part.compact()
    assert part.contents() == [(1, b"a", None), (2, b"b", b"2"), (3, b"c", None)]
    part.clock.advance(RETENTION_MS / 1000 * 0.5)
    assert part.compact() == 1
    assert part.contents() == [(2, b"b", b"2"), (3, b"c", None)]
    assert part.compact() == 0
    part.clock.advance(RETENTION_MS / 1000 * 0.6)
    part.compact()
    assert part.contents() == [(2, b"b", b"2")]
    assert part.compact() == 0


def test_the_list_of_clean_ranges_stays_short():
    """K6: however often compaction runs."""
    part = Partition()
    for n in range(150):
        part.add((b"%d" % (n % 3), None))
        part.flush()
        part.compact()
        part.clock.advance(RETENTION_MS / 1000 / 100)
    assert len(part.log.manifest.cleaned) <= 68
    assert part.log.manifest.cleaned[-1].end == 150


def test_aborted_records_go_and_committed_ones_stay():
    """K4: an aborted record never replaces a committed one, also when its marker lies segments later."""
    part = Partition()
    part.add((b"a", b"kept"), (b"b", b"old"))
    part.add((b"a", b"aborted"), producer=7, transactional=True)
    part.add((b"b", b"new"), producer=8, transactional=True)
    part.flush(last_stable=2)
    part.compact()
    assert len(part.contents()) == 4
    part.end_transaction(8, 3, MarkerKind.COMMIT)
    part.flush(last_stable=2)
    part.end_transaction(7, 2, MarkerKind.ABORT)
    part.flush()
    part.compact()
    assert part.contents() == [(0, b"a", b"kept"), (3, b"b", b"new")]


def test_markers_and_the_aborted_index_go_together_after_the_tombstones_time():
    """K4: while the index names a transaction its marker is there, or a reader would drop what follows."""
    part = Partition()
    part.add((b"a", b"x"), producer=7, transactional=True)
    part.end_transaction(7, 0, MarkerKind.ABORT)
    part.add((b"b", b"y"), producer=7, transactional=True)
    part.end_transaction(7, 2, MarkerKind.COMMIT)
    part.flush()
    part.compact()
    assert [header.base_offset for header, _ in part.batches()] == [1, 2, 3]
    assert part.log.manifest.segments.aborted(0, 4) == [Aborted(7, 0, 1, 2)]
    part.clock.advance(2 * RETENTION_MS / 1000)
    part.compact()
    assert [header.base_offset for header, _ in part.batches()] == [2]
    assert part.log.manifest.segments.aborted(0, 4) == []


def test_a_batch_that_cannot_be_decoded_stays_as_it_is():
    """K6: the broker stores what a client sends; one bad batch does not stop compaction for ever."""
    part = Partition()
    part.add((b"a", b"1"))
    part.add((b"a", b"2"))
    bad = bytearray(build([Record(b"a", b"3")], base_offset=2))
    bad[61] = 0x7F  # The record claims more bytes than there are.
    part.pending.append(bytes(bad))
    part.next_offset += 1
    part.add((b"a", b"4"))
    part.flush()
    part.compact()
    found = [(header.base_offset, bytes(view)) for header, view in part.batches()]
    assert [offset for offset, _ in found] == [2, 3]
    assert found[0][1] == bytes(bad)


def test_records_below_log_start_go():
    """K6: nobody can read them; the segment still stands for their offsets."""
    part = Partition()
    part.add((b"a", b"1"), (b"b", b"2"), (b"c", b"3"))
    part.flush()
    part.log.commit(RaiseLogStart(2))
    part.compact()
    assert part.contents() == [(2, b"c", b"3")]
    assert part.log.manifest.segments[0].base == 0


def test_everything_may_go_and_the_range_stays():
    """L2: an empty segment stands for its offsets."""
    part = Partition()
    part.add((b"a", None))
    part.flush()
    part.compact()
    part.clock.advance(2 * RETENTION_MS / 1000)
    part.compact()
    assert part.contents() == []
    assert [(each.base, each.end, each.record_count) for each in part.log.manifest.segments] == [(0, 1, 0)]
    part.add((b"a", b"1"))
    part.flush()
    assert part.contents() == [(1, b"a", b"1")]


def test_a_small_memory_for_keys_takes_more_runs_and_ends_the_same():
    """K6: 48 keys at a time; each run goes on where the last one ended."""
    rules = KeyRules(RETENTION_MS, key_memory_size_max=64 * SLOT_SIZE)
    part = Partition(segment_size_max=3000)
    for n in range(400):
        part.add((b"%d" % (n * 7 % 100), b"v%d" % n))
        if n % 50 == 49:
            part.flush()
    runs = 0
    while part.compact(rules=rules):
        runs += 1
        assert runs < 40
    assert [offset for offset, _, _ in part.contents()] == list(range(300, 400))
    assert runs > 3


def test_a_segment_that_loses_nothing_stays():
    """K6: nothing is written for it, but the partition is known to be clean."""
    part = Partition(segment_size_max=1000)
    part.add(*((b"%d" % n, bytes(20)) for n in range(30)))
    part.flush()
    name = part.log.manifest.segments[0].name
    assert part.compact() == 1
    assert [each.name for each in part.log.manifest.segments] == [name]
    assert part.log.manifest.cleaned[-1].end == 30
    assert part.compact() == 0


def test_changes_come_one_by_one_so_that_no_put_waits_long_for_its_commit():
    """S7: a large partition is swapped in parts, each right by itself."""
    part = Partition(segment_size_max=4000)
    for n in range(40):
        part.add(*((b"%d-%d" % (n, m), bytes(50)) for m in range(20)), (b"same", b"%d" % n))
        part.flush()
    seen = 0
    for change in compact_keys(part.shop, part.log.manifest, part.next_offset, part.clock.now_ms(), RULES):
        part.log.commit(change)
        seen += 1
        keys = [key for _, key, _ in part.contents()]
        assert len(set(keys)) == 801
        assert part.contents()[-1][1:] == (b"same", b"39")
    assert seen > 5
    assert len(part.contents()) == 801


def test_a_put_that_the_store_repeated_by_itself_is_no_failure():
    """A3: the name is random, so what is there is our own."""
    part = Partition()
    part.add((b"a", b"1"), (b"a", b"2"))
    part.flush()
    put = part.objects.put_if_absent

    def put_twice(name, data):
        put(name, data)
        if name.startswith("segments/"):
            put(name, data)

    part.objects.put_if_absent = put_twice
    part.compact()
    assert part.contents() == [(1, b"a", b"2")]


def test_dirty_ratio():
    """K6: how much compaction would look at anew."""
    part = Partition()
    assert dirty_ratio(part.log.manifest, 10) == 0.0
    part.add((b"a", b"1"))
    part.flush()
    assert dirty_ratio(part.log.manifest, 10) == 1.0
    part.compact()
    assert dirty_ratio(part.log.manifest, 10) == 0.0
    part.add((b"a", b"1"))
    part.flush()
    assert 0.4 < dirty_ratio(part.log.manifest, 10) < 0.6


KEYS = st.sampled_from([None, b"", b"a", b"b", b"c", b"long key " * 5])
VALUES = st.sampled_from([None, None, b"", b"x", b"y" * 300])
PLAIN = st.tuples(st.just("plain"), st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=6), st.integers(0, 4))
STEPS = st.one_of(
    PLAIN,
    PLAIN,
    st.tuples(st.just("begin"), st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=3), st.integers(5, 6)),
    st.tuples(st.just("end"), st.sampled_from(list(MarkerKind)), st.integers(5, 6)),
    st.tuples(st.just("flush")),
    st.tuples(st.just("compact"), st.floats(0, 1), st.booleans()),
    st.tuples(st.just("time"), st.sampled_from([0.1, 0.7, 1.5])),
    st.tuples(st.just("log_start"), st.floats(0, 0.3)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=60))
def test_compaction_against_a_plain_model(steps):
    """K6, L2: after every run each record that must stay is there once, at its offset, and none that must go."""
    part = Partition(segment_size_max=600)
    rows: dict[int, tuple[bytes | None, bytes | None]] = {}  # What must be there.
    open_since: dict[int, int] = {}
    owned: dict[int, list[int]] = {5: [], 6: []}
    undecided: dict[int, tuple[bytes | None, bytes | None]] = {}
    stable = 0
    for step in steps:
        match step:
            case ("plain", pairs, codec):
                rows |= {part.next_offset + n: pair for n, pair in enumerate(pairs)}
                part.add(*pairs, codec=codec)
            case ("begin", pairs, producer):
                open_since.setdefault(producer, part.next_offset)
                owned[producer] += range(part.next_offset, part.next_offset + len(pairs))
                undecided |= {part.next_offset + n: pair for n, pair in enumerate(pairs)}
                part.add(*pairs, producer=producer, transactional=True)
            case ("end", kind, producer) if producer in open_since:
                part.end_transaction(producer, open_since.pop(producer), kind)
                for offset in owned[producer]:
                    pair = undecided.pop(offset)
                    if kind == MarkerKind.COMMIT:
                        rows[offset] = pair
                owned[producer] = []
            case ("flush",):
                part.flush(min(open_since.values(), default=None))
                stable = part.log.manifest.last_stable
            case ("time", fraction):
                part.clock.advance(RETENTION_MS / 1000 * fraction)
            case ("log_start", fraction):
                manifest = part.log.manifest
                start = int(manifest.log_start + fraction * (min(stable, manifest.flushed) - manifest.log_start))
                part.log.commit(RaiseLogStart(start))
            case ("compact", fraction, small):
                end = int(fraction * stable)
                before = part.log.manifest
                part.compact(end, KeyRules(RETENTION_MS, 64 * SLOT_SIZE if small else 1 << 20))
                check(part, before, rows, undecided)


def check(part, before, rows, undecided):
    """The stored records are those the rules leave."""
    manifest = part.log.manifest
    clean_end = manifest.cleaned[-1].end if manifest.cleaned else 0
    gone_end = max((each.end for each in manifest.cleaned if each.since_ms == 0), default=0)
    found = {offset: (key, value) for offset, key, value in part.contents() if offset >= manifest.log_start}
    last = {key: offset for offset, (key, _) in sorted(rows.items()) if offset < clean_end}
    for offset, (key, value) in rows.items():
        if not manifest.log_start <= offset < manifest.flushed:
            continue
        superseded = key is not None and offset < clean_end and last[key] > offset
        expired = key is not None and value is None and offset < gone_end
        if not superseded and not expired:
            assert found.get(offset) == (key, value), (offset, key, value)
        else:
            assert offset not in found, (offset, key, value)
    extra = set(found) - set(rows)
    assert all(offset in undecided or offset >= clean_end for offset in extra), "An aborted record is still there."
    assert (manifest.log_start, manifest.flushed) == (before.log_start, before.flushed)
    markers = {header.base_offset for header, _ in part.batches() if header.is_control}
    for each in manifest.segments.aborted(manifest.log_start, manifest.flushed):
        assert each.last_offset in markers, "The index names a transaction whose marker is gone."


def test_the_hash_of_a_key_is_siphash_with_128_bits():
    """K6: against the published vectors: secret 00…0f, input 00, 01, 02, …"""
    from holdfast.segment import key_loops

    expected = {
        0: "a3817f04ba25a8e66df67214c7550293",
        1: "da87c1d86b99af44347659119b22fc45",
        7: "a1f1ebbed8dbc153c0b84aa61ff08239",
        8: "3b62a9ba6258f5610f83e264f31497b4",
        15: "5493e99933b0a8117e08ec0f97cfc3d9",
        63: "5150d1772f50834a503e069a973fbd7c",
    }
    secret = np.frombuffer(bytes(range(16)), "<u8").copy()
    for size, digest in expected.items():
        lows, highs = np.empty(1, np.uint64), np.empty(1, np.uint64)
        data = np.arange(64, dtype=np.uint8)
        key_loops.hash_keys(np.array([0, size], np.int32), data, secret, lows, highs)
        assert (lows.tobytes() + highs.tobytes()).hex() == digest


def test_the_key_map_keeps_its_bound():
    """K6: memory as promised; a full map says where it stopped."""
    key_map = KeyMap(1000 * SLOT_SIZE, 10**9, SeededChance(1))
    assert key_map.key_count_max == 512 * 3 // 4
    ends = np.arange(0, 8 * 1001, 8)
    keys = Binary(ends, np.arange(1000, dtype="<u8").view(np.uint8), None)
    done = key_map.learn(keys, np.arange(1000), np.ones(1000, np.bool_))
    assert done == key_map.key_count == 384
    keep = np.ones(1000, np.bool_)
    key_map.find_last(keys, np.arange(1000) - 1, keep)
    assert list(np.flatnonzero(~keep)) == list(range(384))


class TestMerge:
    """A7: many small segments become few large ones, byte for byte."""

    @pytest.fixture
    def part(self):
        part = Partition(segment_size_max=10_000)
        for n in range(30):
            part.add(*((b"k", bytes(100)) for _ in range(3)), codec=n % 5)
            part.end_transaction(7, n, MarkerKind.ABORT if n == 12 else MarkerKind.COMMIT)
            part.flush()
        return part

    def test_batches_are_copied_as_they_are(self, part):
        """A7: no decoding; aborted transactions and producers come along."""
        before = [bytes(view) for _, view in part.batches()]
        manifest = part.log.manifest
        runs = list(small_runs(manifest, manifest.flushed, 10_000))
        assert sum(map(len, runs)) == 30
        for run in runs:
            part.log.commit(merge(part.shop, run))
        assert [bytes(view) for _, view in part.batches()] == before
        manifest = part.log.manifest
        assert len(manifest.segments) == len(runs) < 5
        assert not any(each.compacted for each in manifest.segments)
        assert len(manifest.segments.aborted(0, manifest.flushed)) == 1
        assert open_segment(part.objects, manifest.segments[-1]).producers() == {4: ProducerState(4, 0)}

    def test_only_runs_worth_it_are_merged(self, part, make_info):
        """A7: large ones stay, few small ones wait, and nothing above the end is touched."""
        manifest = part.log.manifest
        assert list(small_runs(manifest, 20, 10_000)) == []
        assert [len(run) for run in small_runs(manifest, 40, 10_000)] == [10]
        assert list(small_runs(manifest, manifest.flushed, 500)) == []

    def test_compacted_segments_stay_marked(self, part):
        """L2: a merged segment may lack offsets if one of its parts does."""
        part.compact()
        for n in range(10):
            part.add((b"%d" % n, b""))
            part.flush()
        manifest = part.log.manifest
        for run in small_runs(manifest, manifest.flushed, 10_000):
            part.log.commit(merge(part.shop, run))
        assert part.log.manifest.segments[0].compacted
        assert [offset for offset, _, _ in part.contents()][-10:] == list(range(120, 130))


def test_scanned_pieces_are_whole_batches():
    """L2: whatever the size of a piece; damage is found."""
    from holdfast.segment.errors import Damaged
    from holdfast.segment.scan import pieces

    part = Partition()
    for _ in range(300):
        part.add((b"k", bytes(2000)))
    part.flush()
    info = part.log.manifest.segments[0]
    segment = open_segment(part.objects, info)
    for size in (1, 200_000, 1 << 30):
        found = [header for piece in pieces(part.objects, segment, size) for header, _ in split(piece)]
        assert [header.base_offset for header in found] == list(range(300))
    data = bytearray(part.objects.get(info.name))
    data[100_000] ^= 1
    part.objects.put(info.name, [data])
    with pytest.raises(Damaged):
        list(pieces(part.objects, segment, 200_000))
    assert read_header(data, 44).base_offset == 0
