"""Manifests and segment lists as values: they check themselves."""

from __future__ import annotations

import pytest

from holdfast.errors import Corrupt
from holdfast.io.versions import Stamp
from holdfast.segment.errors import DoesNotFit, HigherEpoch
from holdfast.segment.manifest.changes import Append, RaiseEpoch, RaiseLogStart
from holdfast.segment.manifest.info import Aborted, SegmentInfo
from holdfast.segment.manifest.manifest import EpochStart, Manifest, OpenTransaction, first_manifest
from holdfast.segment.manifest.segments import SegmentList
from holdfast.segment.producers import ProducerBatch, ProducerState, from_rows, to_rows

STAMP = Stamp(1, "w", "n")


@pytest.fixture
def manifest(home):
    def make(segments, **values):
        return Manifest(home, "c", 3, STAMP, (EpochStart(1, 0),), segments=SegmentList(segments), **values)

    return make


def test_segments_must_tile(make_info):
    """L2: a gap, an overlap, a segment twice: refused by the list itself."""
    for rows in ([(0, 10), (11, 20)], [(0, 10), (9, 20)], [(0, 10), (0, 10)], [(10, 20), (0, 10)]):
        with pytest.raises(Corrupt):
            SegmentList([make_info(*row) for row in rows])


@pytest.mark.parametrize(
    ("rows", "log_start", "flushed", "last_stable"),
    [
        ([(0, 10)], 0, 11, 0),
        ([(0, 10)], 0, 9, 0),
        ([(5, 10)], 4, 10, 0),
        ([(0, 5), (5, 10)], 5, 10, 0),
        ([], 3, 5, 0),
        ([(0, 10)], 0, 10, 11),
        ([(0, 10)], 0, 10, -1),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused(manifest, make_info, rows, log_start, flushed, last_stable):
    """L2: segments tile from one that holds log start to flushed; marks are in order."""
    with pytest.raises(Corrupt):
        manifest([make_info(*row) for row in rows], log_start=log_start, flushed=flushed, last_stable=last_stable)


def test_log_start_may_fall_inside_the_first_segment_and_all_segments_may_go(manifest, make_info):
    """K6: a partition whose segments have all expired keeps its next offset, producers and epochs."""
    full = manifest([make_info(0, 10), make_info(10, 20)], flushed=20)
    inside = RaiseLogStart(5).apply(full)
    assert [each.base for each in inside.segments] == [0, 10]
    empty = RaiseLogStart(20).apply(inside)
    assert (len(empty.segments), empty.log_start, empty.flushed) == (0, 20, 20)
    again = Append((make_info(20, 30),), 30, {}, 0.0).apply(empty)
    assert [each.base for each in again.segments] == [20]
    for wrong in (20, 19, 31):
        with pytest.raises(DoesNotFit):
            RaiseLogStart(wrong).apply(again)


def test_epochs_grow_and_old_ones_go_with_their_offsets(manifest, make_info):
    """A2: the history answers where each epoch that still has offsets starts."""
    at = manifest([make_info(0, 10)], flushed=10)
    at = RaiseEpoch(4, 10).apply(at)
    at = Append((make_info(10, 20),), 20, {}, 0.0).apply(at)
    at = RaiseEpoch(5, 23).apply(at)  # Its leader has a tail that is not flushed yet.
    assert at.epochs == ((1, 0), (4, 10), (5, 23))
    assert RaiseLogStart(9).apply(at).epochs == at.epochs
    assert RaiseLogStart(10).apply(at).epochs == ((4, 10), (5, 23))
    with pytest.raises(HigherEpoch):
        RaiseEpoch(4, 23).apply(at)
    with pytest.raises(DoesNotFit):
        RaiseEpoch(6, 19).apply(at)


def test_open_transactions_are_those_of_the_producers(home):
    """K4: by their first offset."""
    states = [ProducerState(7, 0, transaction_start=30), ProducerState(8, 0), ProducerState(9, 1, transaction_start=4)]
    first = first_manifest(home, "c", 1, STAMP)
    manifest = Append((), 0, {each.producer_id: each for each in states}, 0.0).apply(first)
    assert manifest.open_transactions == (OpenTransaction(4, 9), OpenTransaction(30, 7))


def test_producers_come_back_from_rows():
    """K4: epoch, last batches, open transaction."""
    batches = tuple(ProducerBatch(n, n, n + 10, n + 20) for n in range(5))
    states = {3: ProducerState(3, 1, batches, 12, 4, 99), 1: ProducerState(1, 0)}
    assert from_rows(to_rows(states)) == states
    with pytest.raises(ValueError, match="5 are kept"):
        ProducerState(3, 1, (*batches, batches[0]))


def test_a_row_comes_back(make_info, home):
    """L2: with and without aborted transactions; the folder is not repeated in each row."""
    for info in (make_info(0, 10), make_info(0, 10, compacted=True, aborted=(Aborted(1, 2, 3, 4),))):
        row = info.to_row()
        assert "/" not in row[0]
        assert SegmentInfo.from_row(row, home.segments) == info


class TestSegmentList:
    """L2: lookups in a list of segments."""

    @pytest.fixture
    def segments(self, make_info):
        return SegmentList([make_info(10, 20), make_info(20, 25), make_info(25, 40)])

    def test_find_by_offset(self, segments):
        """L2: every offset of the range has one segment, others none."""
        found = [segments.number_of(offset) for offset in (9, 10, 19, 20, 24, 25, 39, 40)]
        assert found == [None, 0, 0, 1, 1, 2, 2, None]
        assert segments.holding(22).base == 20
        assert segments.holding(40) is None

    def test_between(self, segments):
        """S7: the segments that hold some of a range."""
        for start in range(5, 45):
            for end in range(start, 45):
                expected = [each.base for each in segments if each.base < end and each.end > start and start < end]
                assert [each.base for each in segments.between(start, end)] == expected

    def test_replace_needs_exactly_one_run(self, segments, make_info):
        """L2: borders must meet borders."""
        assert [each.base for each in segments.replace([make_info(20, 40)])] == [10, 20]
        assert [each.base for each in segments.replace([make_info(10, 15), make_info(15, 20)])] == [10, 15, 20, 25]
        for wrong in ((10, 21), (11, 20), (25, 41), (0, 10)):
            with pytest.raises(DoesNotFit):
                segments.replace([make_info(*wrong)])

    def test_aborted_transactions_are_found_though_their_markers_lie_later(self, make_info):
        """K4: and the search ends where the last stable offset says nothing earlier can be aborted any more."""
        late, inside = Aborted(1, 5, 27, 28), Aborted(2, 21, 29, 30)
        rows = [make_info(0, 10), make_info(10, 20), make_info(20, 30, aborted=(late, inside)), make_info(30, 40)]
        segments = SegmentList(rows)
        assert segments.aborted(0, 10) == [late]
        assert segments.aborted(10, 20) == [late]
        assert segments.aborted(20, 30) == [late, inside]
        assert segments.aborted(28, 30) == [inside]
        assert segments.aborted(30, 40) == []
        assert segments.drop(20).aborted(20, 40) == [late, inside]
        assert segments.drop(30).aborted(0, 40) == []
        assert segments.replace([make_info(20, 40, compacted=True)]).aborted(0, 40) == []
        assert (
            segments.append([make_info(40, 50, aborted=(Aborted(3, 41, 42, 43),))]).aborted(40, 50)[0].producer_id == 3
        )
