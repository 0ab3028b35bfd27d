"""The loops over records say in C what they say in Python."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.native.loops import WIDTHS, Array, Target, both

from holdfast.native import kernels
from holdfast.record.batch import read_header
from holdfast.record.build import build
from holdfast.record.framing import lz4_frame
from holdfast.record.layout import HEADER_SIZE
from holdfast.record.loops import hash_loops, lz4_loops, read_loops, write_loops
from holdfast.record.records import Record

pytestmark = pytest.mark.skipif(kernels is None, reason="no machine code was built: cc or Python.h is missing")

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 100, 300, 9000)
EVIL = (0, 1, 2, 0x7F, 0x80, 0xFF)


def text(dice: random.Random) -> bytes | None:
    return None if dice.random() < 0.15 else dice.randbytes(dice.choice(SIZES[: dice.choice([8, 19, 20])]))


def some_records(dice: random.Random, count: int) -> list[Record]:
    def headers() -> tuple[tuple[str, bytes | None], ...]:
        return tuple((f"h{n}" * dice.choice([0, 1, 40]), text(dice)) for n in range(dice.choice([0, 0, 0, 1, 3])))

    return [
        Record(text(dice), text(dice), dice.choice([1, 10**13, dice.randrange(1 << 40)]), headers())
        for _ in range(count)
    ]


def some_batches(dice: random.Random, evil: float = 0.0) -> list[bytearray]:
    """The records of some batches; bytes of them are wrong with that probability."""
    found = []
    for _ in range(dice.choice([0, 1, 2, 4])):
        batch = build(some_records(dice, dice.choice([1, 2, 9, 40])))
        count = read_header(batch).record_count
        data = batch[HEADER_SIZE:]
        if dice.random() < evil:
            for _ in range(dice.choice([1, 1, 3])):
                data[dice.randrange(min(len(data), dice.choice([3, 20, 1 << 20])))] = dice.choice(EVIL)
        if dice.random() < evil / 3:
            del data[dice.randrange(len(data)) :]
        found.append(bytearray(count.to_bytes(4, "big") + data))
    return found


def spans_of(dice: random.Random, batches: list[bytearray]) -> tuple[Array, list[Array]]:
    rows, held = [], []
    for batch in batches:
        count, data = int.from_bytes(batch[:4], "big"), np.frombuffer(bytes(batch[4:]), np.uint8)
        held.append(data)
        times = dice.choice([(1_700_000_000_000, 1), (1_700_000_000_000, 0), (2**63 - 5, 1)])
        last = count - dice.choice([1, 1, 1, 0, 2])
        rows.append((data.ctypes.data, len(data), count, dice.choice([0, 1 << 40]), last, *times))
    return np.array(rows, np.int64).reshape(len(rows), 7), held


def fields(count: int, width: Any) -> tuple[Array, Array, Array]:
    return np.zeros(count + 1, width), np.zeros(count, np.int64), np.full((count + 7) // 8, 0xFF, np.uint8)


def walked(spans: Array, depth: int, width: Any) -> tuple[Any, list[Array]]:
    count = int(spans[:, 2].sum())
    columns = [fields(count if depth > number else 0, width) for number in range(3)]
    numbers = np.zeros(count, np.int64)
    return both(read_loops.walk, spans, depth, numbers, numbers, *columns[0], *columns[1], *columns[2][:2])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("seed", range(12))
def test_records_are_walked_and_gathered(seed: int, width: Any) -> None:
    """P1: keys, values and headers, null and empty ones, at every depth."""
    dice = random.Random(seed)
    spans, held = spans_of(dice, some_batches(dice))
    spans[:, 4] = spans[:, 2] - 1
    for depth in range(4):
        answer, arrays = walked(spans, depth, width)
        assert answer == (read_loops.FINE, 0, 0, 0)
    _, _, _, key_ends, key_at, _, value_ends, value_at, _, header_ends, header_at = arrays
    for ends, at in ((key_ends, key_at), (value_ends, value_at)):
        both(read_loops.gather, at, ends, Target(int(ends[-1])))
    keys, values = (fields(int(header_ends[-1]), width) for _ in range(2))
    _, found = both(read_loops.walk_headers, header_ends, header_at, *keys[:2], *values)
    both(read_loops.gather, found[3], found[2], Target(int(found[2][-1])))
    both(read_loops.gather, found[5], found[4], Target(int(found[4][-1])))
    assert len(held) == len(spans)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_malformed_is_found_at_the_same_place(seed: int) -> None:
    """K12: bytes changed at random, batches that break off, offsets past the last: whatever walks, checks or keeps."""
    dice = random.Random(seed)
    for _ in range(6):
        spans, held = spans_of(dice, some_batches(dice, evil=0.7))
        for depth in range(4):
            walked(spans, depth, dice.choice(WIDTHS))
        for address, size, count, *_ in spans.tolist():
            checked = both(read_loops.check, address, size, count)[0]
            assert read_loops.check_at_once(address, size, count) == checked
            chosen = np.array([dice.random() < 0.5 for _ in range(count)], np.bool_)
            both(read_loops.keep, address, size, chosen, Target(size))
        assert len(held) == len(spans)


def test_nothing_at_all() -> None:
    assert both(read_loops.check, 0, 0, 0)[0] == (0, 0, 0, -1, 2**63 - 1, -(2**63))
    assert both(read_loops.keep, 0, 0, np.empty(0, np.bool_), Target(0))[0] == (0, 0, 0, 0, -(2**63))
    assert walked(np.empty((0, 7), np.int64), 3, np.int32)[0] == (0, 0, 0, 0)
    both(read_loops.gather, np.empty(0, np.int64), np.zeros(1, np.int32), Target(0))


@pytest.mark.parametrize("size", SIZES)
def test_strings_of_every_size_are_copied_whole(size: int) -> None:
    data = np.frombuffer(random.Random(size).randbytes(3 * size + 1), np.uint8)
    at = data.ctypes.data + np.array([0, size, 2 * size], np.int64)
    _, (_, _, target) = both(read_loops.gather, at, np.array([0, size, 2 * size, 3 * size], np.int32), Target(3 * size))
    assert target[: 3 * size].tobytes() == data[: 3 * size].tobytes()


@pytest.mark.parametrize("seed", range(20))
def test_records_are_measured_and_written(seed: int) -> None:
    """P1: numbers of every size, also negative ones; null and empty keys, values and headers."""
    dice = random.Random(seed)
    rows, headers = dice.choice([0, 1, 7, 60]), dice.choice([0, 1, 9])
    pool = np.frombuffer(dice.randbytes(20_000), np.uint8)

    def numbers(count: int) -> Array:
        drawn = [dice.choice([0, 63, -64, 64, -65, 8191, 8192, -(2**63), 2**63 - 1, dice.randrange(1 << 40)])]
        return np.array(
            [drawn[0] if dice.random() < 0.2 else dice.randrange(-(1 << 34), 1 << 34) for _ in range(count)], np.int64
        )

    def located(count: int) -> tuple[Array, Array]:
        sizes = np.array([dice.choice([-1, *SIZES]) for _ in range(count)], np.int64)
        return pool.ctypes.data + np.array([dice.randrange(10_000) for _ in range(count)], np.int64), sizes

    times = (numbers(rows), numbers(rows))
    key, value, header_key, header_value = located(rows), located(rows), located(headers), located(headers)
    starts = np.array([dice.randrange(headers + 1) for _ in range(rows)], np.int64)
    ends = np.array([dice.randrange(each, headers + 1) for each in starts], np.int64)
    sizes = np.empty(rows, np.int64)
    size, arrays = both(
        write_loops.measure, *times, key[1], value[1], starts, ends, header_key[1], header_value[1], sizes
    )
    ranges = (starts, ends, *header_key, *header_value)
    written, _ = both(write_loops.write, *times, *key, *value, *ranges, arrays[-1], Target(size))
    assert written == size


@pytest.mark.parametrize("seed", range(5))
def test_keys_are_hashed_as_producers_do(seed: int) -> None:
    dice = random.Random(seed)
    pool = np.frombuffer(dice.randbytes(400), np.uint8)
    sizes = np.array([dice.choice([-1, *range(20)]) for _ in range(200)], np.int64)
    at = pool.ctypes.data + np.array([dice.randrange(300) for _ in sizes], np.int64)
    both(hash_loops.hash_keys, at, sizes, np.zeros(200, np.uint32))


@pytest.mark.parametrize("seed", range(20))
def test_lz4_is_expanded_or_left_alone(seed: int) -> None:
    """K12: frames as clients write them, whole and damaged, into large rooms and too small ones."""
    dice = random.Random(seed)
    for _ in range(6):
        words = [dice.randbytes(dice.randint(1, 30)) for _ in range(dice.choice([1, 2, 12]))]
        plain = b"".join(dice.choice(words) * dice.choice([1, 1, 9]) for _ in range(dice.choice([1, 20, 60])))
        frame = bytearray(lz4_frame(plain))
        if dice.random() < 0.6:
            frame[dice.randrange(len(frame))] = dice.choice([*EVIL, dice.randrange(256)])
        source = np.frombuffer(bytes(frame), np.uint8)
        for room in {0, len(plain) - 1, len(plain), len(plain) + 5, len(plain) + 100}:
            found, arrays = both(lz4_loops.expand_frame, source.ctypes.data, len(source), Target(room), room)
            assert (arrays[-1][room:] == 0xA5).all()
            del found
