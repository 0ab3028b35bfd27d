"""Merging of small segments, and reading whole segments piece by piece."""

from __future__ import annotations

import pytest
from tests.segment.partition import Partition

from holdfast.record.batch import split
from holdfast.record.marker import MarkerKind
from holdfast.segment.compaction.merge import merge, small_runs
from holdfast.segment.errors import Damaged
from holdfast.segment.producers import ProducerState
from holdfast.segment.scan import open_segment, pieces


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
        runs = list(small_runs(manifest, manifest.flushed, 10_000, growth_min=1))
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
