"""The last offset of each key, in bounded memory: 24 bytes a slot, at most three quarters of them used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.io.chance import Chance
from holdfast.record.columnar.columns import Binary

SLOT_SIZE = 24
_SLOTS_MIN = 64


class KeyMap:
    """Knows up to `key_count_max` keys by a hash of 128 bits; which keys they are it does not know."""

    def __init__(self, size_max: int, key_count: int, chance: Chance) -> None:
        """Memory for `key_count` keys, but not more than `size_max` bytes."""
        slots = _SLOTS_MIN
        while slots * 3 // 4 < key_count and 2 * slots * SLOT_SIZE <= size_max:
            slots *= 2
        self.key_count_max = slots * 3 // 4
        self.key_count = 0
        self._secret = np.array([chance.bits(64), chance.bits(64)], np.uint64)
        self._lows = np.empty(slots, np.uint64)
        self._highs = np.empty(slots, np.uint64)
        self._offsets = np.full(slots, -1, np.int64)

    def learn(self, keys: Binary, offsets: NDArray[np.int64], counts: NDArray[np.bool_]) -> int:
        """Remember the rows that count; the number of rows done is smaller than their number when the map is full."""
        from holdfast.segment.compaction import key_loops as loops

        lows, highs = self._hash(keys)
        table = (self._lows, self._highs, self._offsets)
        done, self.key_count = loops.learn(*table, self.key_count, self.key_count_max, lows, highs, offsets, counts)
        return int(done)

    def find_last(self, keys: Binary, offsets: NDArray[np.int64], keep: NDArray[np.bool_]) -> None:
        """Clear `keep` for rows whose key is known with a higher offset."""
        from holdfast.segment.compaction import key_loops as loops

        loops.find_last(self._lows, self._highs, self._offsets, *self._hash(keys), offsets, keep)

    def _hash(self, keys: Binary) -> tuple[NDArray[Any], NDArray[Any]]:
        from holdfast.segment.compaction import key_loops as loops

        lows, highs = np.empty(len(keys), np.uint64), np.empty(len(keys), np.uint64)
        loops.hash_keys(keys.ends, keys.data, self._secret, lows, highs)
        return lows, highs
