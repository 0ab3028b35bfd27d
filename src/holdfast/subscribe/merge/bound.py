"""The bound in time: which rows lie before it, and when a partition has passed it for good.

What counts is the order time, which never falls inside a partition, whatever the timestamps do. So a partition is
through with its first record whose order time reaches the bound, and only that partition is: another one may still
bring records from before. A cursor behind a bounded stream stands before that record: going on leaves nothing out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holdfast.subscribe.merge.piece import Piece, Position


def has_passed(position: Position, until_ms: int | None) -> bool:
    """Whether nothing of a lane that stands here lies before the bound."""
    return until_ms is not None and position.order_time >= until_ms


def before(piece: Piece, until_ms: int | None) -> Piece:
    """The rows of one lane's piece that lie before the bound. Cut, it moves no lane: the rows say where it stands."""
    if until_ms is None or not any(has_passed(each, until_ms) for each in piece.after.values()):
        return piece
    here = slice(0, int(np.searchsorted(piece.times, until_ms)))
    return replace(
        piece,
        rows=piece.rows[here],
        lanes=piece.lanes[here],
        times=piece.times[here],
        epochs=piece.epochs[here],
        types=piece.types[here],
        after={},
    )
