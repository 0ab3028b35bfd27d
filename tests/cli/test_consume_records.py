"""Which records of a fetched answer are shown: none twice, none that was aborted."""

from __future__ import annotations

import pytest

from holdfast.cli.consume.records import AbortedProducer, find_records
from holdfast.record.build import build
from holdfast.record.errors import WrongCrc
from holdfast.record.marker import Marker, MarkerKind, build_marker
from holdfast.record.records import Record


def batch(base_offset: int, *values: bytes, producer: int = -1) -> bytes:
    records = [Record(None, value, 1) for value in values]
    sequence = -1 if producer < 0 else 0
    return bytes(
        build(
            records,
            base_offset=base_offset,
            producer_id=producer,
            producer_epoch=sequence,
            base_sequence=sequence,
            transactional=producer >= 0,
        )
    )


def marker(base_offset: int, producer: int, kind: MarkerKind) -> bytes:
    return bytes(build_marker(Marker(kind, producer, 0, 0, 1), base_offset=base_offset))


def values(data: bytes, offset: int, *aborted: AbortedProducer) -> tuple[list[bytes | None], int]:
    found = find_records(data, offset, aborted)
    return [each.value for each in found.records], found.next_offset


def test_records_below_the_offset_are_left_out() -> None:
    """L1: an answer begins with the whole batch that has the offset."""
    assert values(batch(5, b"a", b"b", b"c"), 6) == ([b"b", b"c"], 8)


def test_a_batch_that_was_cut_off_is_left_for_the_next_answer() -> None:
    data = batch(0, b"a") + batch(1, b"b")
    for size in (len(data) - 1, len(batch(0, b"a")) + 10):
        assert values(data[:size], 0) == ([b"a"], 1)
    assert values(b"", 3) == ([], 3)


def test_markers_are_passed_over() -> None:
    """K4: nobody sees them, and reading goes on behind them."""
    data = batch(0, b"a", producer=7) + marker(1, 7, MarkerKind.COMMIT)
    assert values(data, 0) == ([b"a"], 2)
    assert values(marker(1, 7, MarkerKind.COMMIT), 1) == ([], 2)


def test_aborted_records_are_dropped_until_their_marker() -> None:
    """K4: of this producer, from this offset, up to the marker; nobody else's."""
    data = (
        batch(0, b"before", producer=7)
        + marker(1, 7, MarkerKind.COMMIT)
        + batch(2, b"aborted", producer=7)
        + batch(3, b"other", producer=8)
        + batch(4, b"plain")
        + marker(5, 7, MarkerKind.ABORT)
        + batch(6, b"again", producer=7)
    )
    assert values(data, 0, AbortedProducer(7, 2)) == ([b"before", b"other", b"plain", b"again"], 7)
    assert values(data, 0)[0] == [b"before", b"aborted", b"other", b"plain", b"again"]


def test_damaged_bytes_are_refused() -> None:
    data = bytearray(batch(0, b"a"))
    data[-1] ^= 1
    with pytest.raises(WrongCrc):
        find_records(bytes(data), 0)
