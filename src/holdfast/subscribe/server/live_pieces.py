"""What was just read and decoded for one follower serves all others, who come to the same offsets a moment later.

A piece is kept under its partition, its first offset and the filter; records never change, so it stays true for as long
as it is kept. Belongs to one event loop.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import NamedTuple, TypeAlias
from uuid import UUID

import numpy as np

from holdfast.subscribe.filter import Filter
from holdfast.subscribe.merge.piece import Piece
from holdfast.subscribe.merge.sizes import held_size

COUNT_MAX = 512
SIZE_MAX = 16 << 10  # Of one piece: what comes live is small, and large ones are not worth their memory.

PieceKey: TypeAlias = tuple[UUID, int, int, Filter | None]


class LivePiece(NamedTuple):
    """A piece, and the high watermark at which nothing was readable behind it; -1 where something was."""

    piece: Piece
    ended_at: int


class LivePieces:
    """The pieces that came last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[PieceKey, LivePiece] = OrderedDict()
        self.shared = 0  # How often one was found.

    def find(self, key: PieceKey, lane: int) -> LivePiece | None:
        """The piece that begins there, for whoever calls the partition by this lane number."""
        found = self._kept.get(key)
        if found is None:
            return None
        self.shared += 1
        piece = found.piece
        if lane in piece.after:
            return found
        [after] = piece.after.values()
        return LivePiece(replace(piece, lanes=np.full(len(piece), lane, np.int32), after={lane: after}), found.ended_at)

    def keep(self, key: PieceKey, found: LivePiece) -> None:
        """For the others."""
        if found.piece.unreadable or held_size(found.piece) > SIZE_MAX:
            return  # What was stepped over is told to each.
        self._kept[key] = found
        if len(self._kept) > COUNT_MAX:
            self._kept.popitem(last=False)
