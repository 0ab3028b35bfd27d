"""Pieces made by hand, and what comes out of a merge as plain tuples."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.subscribe.merge.gather import gather
from holdfast.subscribe.merge.merge import MergedRows
from holdfast.subscribe.merge.piece import Piece, Range, decode_piece


def a_piece(lane: int, timestamps: Sequence[int], first: int = 0, order_time: int = -1) -> Piece:
    """A piece of consecutive offsets, behind others that reach an order time."""
    if not timestamps:
        return decode_piece([], Range(lane, first, first)).raised(order_time)
    records = [
        Record(f"/{lane}/{first + number}".encode(), b"v", time, offset=first + number)
        for number, time in enumerate(timestamps)
    ]
    batch = build(records, base_offset=first, leader_epoch=3)
    return decode_piece([batch], Range(lane, first, first + len(timestamps))).raised(order_time)


def rows_of(taken: MergedRows | None) -> list[tuple[int, int, int, bool]]:
    """Lane, offset, order time, late."""
    if taken is None:
        return []
    names = ("lane", "offset", "order_time", "late")
    return [
        row for batch in gather(taken) for row in zip(*(batch.column(name).to_pylist() for name in names), strict=True)
    ]
