"""Compaction: the last record of each key, at its own offset, and nothing else is lost."""

from __future__ import annotations

import pytest
from crc32c import crc32c
from tests.segment.partition import RETENTION_MS, RULES, Partition

from holdfast.record.build import build
from holdfast.record.marker import MarkerKind
from holdfast.record.records import Record
from holdfast.segment.compaction.key_map import SLOT_SIZE
from holdfast.segment.compaction.keys import KeyRules, compact_keys, dirty_ratio, has_ripe_tombstones
from holdfast.segment.manifest.changes import RaiseLogStart
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.producers import ProducerState
from holdfast.segment.scan import open_segment


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
    assert not has_ripe_tombstones(part.log.manifest, part.clock.now_ms(), RULES)
    part.clock.advance(RETENTION_MS / 1000 * 0.5)
    assert has_ripe_tombstones(part.log.manifest, part.clock.now_ms(), RULES)
    assert part.compact() == 1
    assert not has_ripe_tombstones(part.log.manifest, part.clock.now_ms(), RULES)
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
    bad[17:21] = crc32c(bad[21:]).to_bytes(4, "big")  # And was sent so.
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


def test_ripe_tombstones_below_log_start():
    """K6: retention may have taken all that compaction comes for: then there is nothing to rewrite, once."""
    partition = Partition()
    partition.add((b"a", None))
    partition.flush()
    assert partition.compact() == 1
    partition.add((b"b", b"1"))
    partition.flush()
    partition.clock.advance(2 * RETENTION_MS / 1000)
    partition.log.commit(RaiseLogStart(1))
    assert partition.compact(end=0) == 1
    assert partition.compact(end=0) == 0
    assert partition.contents() == [(1, b"b", b"1")]
