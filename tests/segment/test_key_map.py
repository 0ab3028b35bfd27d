"""The map of keys: a strong hash, in bounded memory."""

from __future__ import annotations

import numpy as np

from holdfast.io.chance import SeededChance
from holdfast.record.columnar.columns import Binary
from holdfast.segment.compaction import key_loops
from holdfast.segment.compaction.key_map import SLOT_SIZE, KeyMap


def test_the_hash_of_a_key_is_siphash_with_128_bits():
    """K6: against the published vectors: secret 00…0f, input 00, 01, 02, …"""
    expected = {
        0: "a3817f04ba25a8e66df67214c7550293",
        1: "da87c1d86b99af44347659119b22fc45",
        7: "a1f1ebbed8dbc153c0b84aa61ff08239",
        8: "3b62a9ba6258f5610f83e264f31497b4",
        15: "5493e99933b0a8117e08ec0f97cfc3d9",
        63: "5150d1772f50834a503e069a973fbd7c",
    }
    secret = np.frombuffer(bytes(range(16)), "<u8").copy()
    for size, digest in expected.items():
        lows, highs = np.empty(1, np.uint64), np.empty(1, np.uint64)
        data = np.arange(64, dtype=np.uint8)
        key_loops.hash_keys(np.array([0, size], np.int32), data, secret, lows, highs)
        assert (lows.tobytes() + highs.tobytes()).hex() == digest


def test_the_key_map_keeps_its_bound():
    """K6: memory as promised; a full map says where it stopped."""
    key_map = KeyMap(1000 * SLOT_SIZE, 10**9, SeededChance(1))
    assert key_map.key_count_max == 512 * 3 // 4
    ends = np.arange(0, 8 * 1001, 8)
    keys = Binary(ends, np.arange(1000, dtype="<u8").view(np.uint8), None)
    done = key_map.learn(keys, np.arange(1000), np.ones(1000, np.bool_))
    assert done == key_map.key_count == 384
    keep = np.ones(1000, np.bool_)
    key_map.find_last(keys, np.arange(1000) - 1, keep)
    assert list(np.flatnonzero(~keep)) == list(range(384))
