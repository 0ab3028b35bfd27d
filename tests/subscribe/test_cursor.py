"""Cursors as values, bytes and text."""

from __future__ import annotations

from uuid import UUID

import pytest

from holdfast.subscribe.cursor import Cursor, CursorPoint, PartitionPosition
from holdfast.subscribe.errors import BadCursor
from holdfast.subscribe.merge.piece import Position
from holdfast.types import ClusterPartition

CURSOR = Cursor(
    {
        ClusterPartition("c1", UUID(int=7), 0): PartitionPosition("orders", Position(12, 3, 1_700_000_000_000)),
        ClusterPartition("c1", UUID(int=7), 1): PartitionPosition("orders", Position(0)),
    },
    CursorPoint(1_700_000_000_000, "c1", "orders", 0),
)


def test_text_and_back() -> None:
    """S1: a cursor is opaque text that any client can go on from."""
    assert Cursor.parse(str(CURSOR)) == CURSOR
    assert Cursor.parse(f" {CURSOR}\n") == CURSOR
    assert Cursor.parse(str(Cursor())) == Cursor()


def test_equal_cursors_have_equal_bytes() -> None:
    """S1: however a cursor was made."""
    turned = Cursor(dict(reversed(CURSOR.places.items())), CURSOR.point)
    assert turned.to_bytes() == CURSOR.to_bytes()


def test_damage_and_newer_versions_are_refused() -> None:
    """O5: a newer format is refused, not misread; so is a cursor that lost a byte."""
    data = bytearray(CURSOR.to_bytes())
    for wrong in (data[:-1], data[:4], b"", b"XYZ" + data[3:], bytes(data[:20]) + b"\0" + bytes(data[21:])):
        with pytest.raises(BadCursor):
            Cursor.from_bytes(bytes(wrong))
    data[3] = 2
    with pytest.raises(BadCursor, match="newer"):
        Cursor.from_bytes(bytes(data))
    for text in ("", "hello", str(CURSOR)[:-3], "ä"):
        with pytest.raises(BadCursor):
            Cursor.parse(text)
