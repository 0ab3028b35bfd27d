"""The loops over times, keys, filters, runs, marks and winners say in C what they say in Python."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.native.loops import WIDTHS, Array, both, strings
from tests.native.test_record_loops import some_batches, spans_of, text

from holdfast.native import kernels
from holdfast.segment import time_loops
from holdfast.segment.compaction import key_loops
from holdfast.subscribe import filter_loops
from holdfast.subscribe.merge import order_loops
from holdfast.sync.carry import winner_loops
from holdfast.sync.origin import mark_loops

pytestmark = pytest.mark.skipif(kernels is None, reason="no machine code was built: cc or Python.h is missing")

EXTREMES = (0, 1, -1, 2**63 - 1, -(2**63))


@pytest.mark.parametrize("seed", range(30))
def test_the_bounds_of_times(seed: int) -> None:
    """P1: of sound batches, and of such as cannot be walked."""
    dice = random.Random(seed)
    spans, held = spans_of(dice, some_batches(dice, evil=dice.choice([0, 0.5])))
    address, size, count = spans.T[:3].copy()
    both(time_loops.delta_bounds, address, size, count, np.zeros_like(size), np.zeros_like(size))
    assert len(held) == len(spans)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(10))
def test_keys_are_hashed_learned_and_found(seed: int, width: Any) -> None:
    """K6: also where the map is full, and where keys meet in one slot."""
    dice = random.Random(seed)
    rows = (0, 1, 50, 50, 50)[seed % 5]
    ends, data, _ = strings([dice.randbytes(dice.choice([0, 1, 7, 8, 9, 15, 16, 300])) for _ in range(rows)], width)
    secret = np.array([dice.getrandbits(64), dice.getrandbits(64)], np.uint64)
    room = np.zeros(rows, np.uint64)
    lows, highs = both(key_loops.hash_keys, ends, data, secret, room, room)[1][3:]
    if seed >= 3:
        lows &= np.uint64(3)
        highs &= np.uint64(1)
    table = [np.zeros(64, np.uint64), np.zeros(64, np.uint64), np.full(64, -1, np.int64)]
    offsets = np.sort(np.array([dice.randrange(1 << 40) for _ in range(rows)], np.int64))
    flags = np.array([dice.random() < 0.8 for _ in range(rows)], np.bool_)
    full = dice.choice([0, 1, 20, 48])
    _, arrays = both(key_loops.learn, *table, 0, full, lows, highs, offsets, flags)
    both(key_loops.find_last, *arrays[:3], lows, highs, offsets - dice.choice([0, 1, 100]), flags)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [0, 1, 60])
def test_keys_are_held_against_a_filter(rows: int, width: Any) -> None:
    """S6: exact ones, prefixes, directories; null, empty and internal keys; no filter at all."""
    dice = random.Random(rows)
    words = (b"", b"/", b"/a", b"/a/", b"/a/b", b"/a/b/c", b"/ab", b"__in", b"__internal/x", b"/a/b/")
    keys, data, validity = strings([dice.choice([*words, None]) for _ in range(rows)], width)
    for count in (0, *[1] * 20, *[4] * 5):
        ends, needles, _ = strings([dice.choice(words) for _ in range(count)], np.int64)
        kinds = np.array([dice.randrange(3) for _ in range(count)], np.int64)
        rest = (kinds, ends, needles, np.frombuffer(b"__in", np.uint8), np.zeros(rows, np.bool_))
        both(filter_loops.match, keys, data, validity, *rest)
        both(filter_loops.match, keys, data, np.empty(0, np.uint8), *rest)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(15))
def test_runs_are_merged(seed: int, width: Any) -> None:
    """S1: empty runs, a single one, equal times, equal ranks."""
    dice = random.Random(seed)
    sizes = [dice.choice([0, 1, 5, 40]) for _ in range(dice.choice([1, 2, 3, 9]))]
    starts = np.cumsum([0, *sizes], dtype=np.int64)
    times = np.concatenate(
        [np.sort([dice.choice(EXTREMES[:3]) + dice.randrange(9) for _ in range(size)]) for size in sizes]
    )
    ranks = np.repeat([dice.randrange(3) for _ in sizes], sizes).astype(width)
    room = np.zeros(len(starts), np.int64)
    _, arrays = both(
        order_loops.merge_runs, times.astype(np.int64), ranks, starts, room, room, np.zeros(len(times), np.int64)
    )
    assert sorted(arrays[-1]) == list(range(len(times)))


MARK, HOME = b"mark", b"\x04home" + bytes(20)


def some_mark(dice: random.Random) -> bytes:
    """A version and some hops, the last of which may break off."""
    hops = [
        dice.choice([HOME, bytes([size := dice.choice([0, 3, 9])]) + dice.randbytes(size) + dice.randbytes(20)])
        + dice.choice([bytes(8), dice.randbytes(8)])
        for _ in range(dice.choice([0, 1, 2, 4]))
    ]
    whole = bytes([dice.choice([1, 1, 1, 2])]) + b"".join(hops)
    return whole if dice.random() < 0.7 else whole[: dice.randrange(len(whole) + 1)]


def some_headers(dice: random.Random, rows: int) -> tuple[list[int], list[bytes], list[bytes | None]]:
    ends, keys, values = [0], [], []
    for _ in range(rows):
        for _ in range(dice.choice([0, 1, 1, 3])):
            is_mark = dice.random() < 0.5
            keys.append(MARK if is_mark else dice.choice([b"", b"mar", b"marks", b"nark"]))
            values.append(some_mark(dice) if is_mark else text(dice))
        ends.append(len(keys))
    return ends, keys, values


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(25))
def test_marks_are_found_read_and_written(seed: int, width: Any) -> None:
    """S8: records without headers, with several marks, with marks that break off or are too long."""
    dice = random.Random(seed)
    rows = dice.choice([0, 1, 30])
    ends, keys, values = some_headers(dice, rows)
    header_ends = np.array(ends, width)
    key_ends, key_data, _ = strings(list(keys), width)
    value_ends, value_data, _ = strings(values, width)
    valid = np.array([each is not None for each in values], np.bool_)
    wanted, home, begins = (np.frombuffer(each, np.uint8) for each in (MARK, HOME, b"\x01" + HOME))
    numbers, truths = np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    found = both(mark_loops.find, header_ends, key_ends, key_data, wanted, numbers)[1][-1]
    both(mark_loops.read_offsets, found, value_ends, value_data, begins, numbers)
    _, walked = both(mark_loops.walk, found, value_ends, value_data, 1, home, truths, numbers)
    both(winner_loops.rank_of, found, walked[-1], value_data, 77, numbers, np.arange(rows))
    old = (header_ends, key_ends, key_data, value_ends)
    longest = dice.choice([1000, 60, 2])
    (others, key_size, value_size), _ = both(mark_loops.measure, *old, wanted, found, longest)
    offsets = np.array([dice.choice([*EXTREMES, dice.randrange(1 << 40)]) for _ in range(rows)], np.int64)
    new = (np.zeros(rows + 1, np.int64), *(np.zeros(others + rows + 1, np.int64) for _ in range(2)))
    new_keys = np.zeros(key_size + rows * len(wanted), np.uint8)
    new_values = np.zeros(value_size + rows * (len(begins) + 8), np.uint8)
    after = (new[0], new[1], new_keys, new[2], new_values, np.zeros(others + rows, np.bool_))
    _, arrays = both(mark_loops.write, *old, value_data, valid, wanted, found, longest, begins, offsets, *after)
    assert (arrays[-5][-1], arrays[-3][-1]) == (len(new_keys), len(new_values))


@pytest.mark.parametrize("seed", range(20))
def test_the_latest_write_wins(seed: int) -> None:
    """S8: keys that meet in one slot, versions that are equal in part or in all, also of records on their way."""
    dice = random.Random(seed)
    table = np.full((64, 6), -1, np.int64)
    for _ in range(5):
        rows = dice.choice([0, 1, 7])

        def drawn(*among: int, rows: int = rows) -> Array:
            return np.array([dice.choice(among) for _ in range(rows)], np.int64)

        versions = (drawn(1, 65, -63, 2**63 - 1), drawn(0, 5), drawn(10, 11, -1), drawn(3, 4), drawn(7, 8))
        wanted = np.array([dice.random() < 0.7 for _ in range(rows)], np.bool_)
        places, winners = np.arange(rows) + dice.randrange(1000), np.zeros(rows, np.int64)
        table = both(winner_loops.meet, table, *versions, places, winners)[1][0]
        table = both(winner_loops.choose, table, *versions, wanted)[1][0]
    both(winner_loops.move, table, np.full((256, 6), -1, np.int64))
