"""Pieces: what lies outside the wanted offsets counts for nothing; the record batches made of many are bounded."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.subscribe.merge import gather as gathering
from holdfast.subscribe.merge.merge import MergedRows, Pick
from holdfast.subscribe.merge.piece import Range, decode_piece


def batches(*timestamps: int) -> list[bytes]:
    """One batch for each record."""
    return [
        bytes(build([Record(b"/k", b"v", time, offset=at)], base_offset=at, leader_epoch=3))
        for at, time in enumerate(timestamps)
    ]


def test_records_behind_the_end_do_not_raise_the_order_time() -> None:
    """S1: a read goes beyond the border; the lane stands at the border with the order time of what lies before it."""
    piece = decode_piece(batches(10, 20, 900), Range(0, 0, 2))
    assert piece.after[0][::2] == (2, 20), "Else a bound between 20 and 900 hides what comes next."
    whole = build([Record(b"/k", b"v", time, offset=at) for at, time in enumerate((10, 20, 900))])
    assert decode_piece([bytes(whole)], Range(0, 0, 2)).after[0][::2] == (2, 20)


def test_batches_before_the_start_do_not_raise_the_order_time() -> None:
    """S1, S5: a segment is read from an interval on, a tail from a batch on: both give the same order times."""
    piece = decode_piece(batches(900, 10, 20), Range(0, 1, 3))
    assert piece.times.tolist() == [10, 20]
    assert piece.after[0].order_time == 20


def test_the_epoch_is_left_open_where_the_last_batch_does_not_reach_the_end() -> None:
    """S1, A2: behind a hole another epoch may have begun: to name the old one would make a cursor look diverged."""
    assert decode_piece(batches(1, 2), Range(0, 0, 2)).after[0].epoch == 3
    assert decode_piece(batches(1, 2), Range(0, 0, 9)).after[0].epoch == -1


def test_headers_of_a_record_batch_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3: Arrow's ends have 32 bits: rows whose headers are too large together come in several record batches."""
    monkeypatch.setattr(gathering, "SIZE_MAX", 1000)
    for header in (("n" * 300, b"v"), ("n", b"v" * 300)):
        records = [Record(b"/k", b"v", number, (header,), number) for number in range(12)]
        piece = decode_piece([build(records, base_offset=0)], Range(0, 0, 12))
        rows = [Pick(piece, number, number + 1) for number in range(12)]
        batches = gathering.gather(MergedRows(rows, np.arange(12), {}))
        assert [batch.num_rows for batch in batches] == [3, 3, 3, 3]
        found = [each for batch in batches for each in batch.column("headers").to_pylist()]
        assert found == [[{"key": header[0], "value": header[1]}]] * 12
