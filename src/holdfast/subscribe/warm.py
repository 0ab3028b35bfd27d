"""Load all that events need, so that the first one need not wait. Without C numba compiles then, and keeps it."""

from __future__ import annotations

import numpy as np

from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.subscribe.filter import Filter
from holdfast.subscribe.merge.gather import gather
from holdfast.subscribe.merge.merge import FEW, Merge, MergeState
from holdfast.subscribe.merge.piece import Range, decode_piece
from holdfast.subscribe.server.packing import pack


def warm() -> None:
    """Send a few records through everything that gets compiled."""
    merge = Merge(0.0)
    merge.set_ranks(np.arange(2, dtype=np.int32))
    for number in range(2):
        records = [Record(b"/key", b"value", 1, (("name", b"value"),)), Record(None, None, 2)]
        many = records * FEW  # Fewer are not worth the loops.
        piece = decode_piece([build(many)], Range(number, 0, len(many), filter=Filter()))
        lane = merge.add(number)
        merge.push(lane, piece)
        lane.state = MergeState.IDLE
    taken = merge.take(1.0)
    assert taken is not None
    for batch in gather(taken):
        list(pack(batch, batches=True))


if __name__ == "__main__":
    warm()
