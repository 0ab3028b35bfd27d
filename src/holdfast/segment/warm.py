"""Compile the loops over keys and times where numba does it, so that later processes find them."""

from __future__ import annotations

import numpy as np

from holdfast.io.chance import SeededChance
from holdfast.record.build import build
from holdfast.record.columnar.columns import Binary
from holdfast.record.records import Record
from holdfast.segment.compaction.key_map import KeyMap
from holdfast.segment.times import record_times


def warm() -> None:
    """Use everything that gets compiled, with the types of ends that decoding gives."""
    for ends_type in (np.int32, np.int64):
        keys = Binary(np.array([0, 1], ends_type), np.zeros(1, np.uint8), None)
        offsets, flags = np.zeros(1, np.int64), np.ones(1, np.bool_)
        key_map = KeyMap(0, 1, SeededChance(0))
        key_map.learn(keys, offsets, flags)
        key_map.find_last(keys, offsets, flags)
    record_times([build([Record(b"key", b"value", 0)])], 1, size_min=0)


if __name__ == "__main__":
    warm()
