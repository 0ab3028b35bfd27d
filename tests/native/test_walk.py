"""Machine code that walks over frames of the write-ahead log finds what Python finds."""

from __future__ import annotations

import random

import pytest

from holdfast.native import kernels
from holdfast.wal.format.frame import encode_header, mark_of, seed_of
from holdfast.wal.format.walk import walk_in_python

pytestmark = pytest.mark.skipif(kernels is None, reason="no machine code was built: cc or Python.h is missing")

SEED = seed_of(7, 1 << 60)


def frames(chance: random.Random, count: int) -> bytearray:
    data = bytearray()
    for number in range(count):
        body = chance.randbytes(chance.choice((0, 1, 7, 8, 100, 5000)))
        data += encode_header(chance.randrange(1, 9), [body], len(body), 0, number, SEED, mark_of(SEED)) + body
    return data


@pytest.mark.parametrize("seed", range(300))
def test_it_finds_the_same_frames(seed: int) -> None:
    """W7: all of them, and of what is damaged, cut or of another chunk, as many as are valid."""
    assert kernels is not None
    chance = random.Random(seed)
    data = frames(chance, chance.randrange(600 if seed % 20 == 0 else 6))
    if seed % 3 == 1 and data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    if seed % 3 == 2:
        del data[chance.randrange(len(data) + 1) :]
        data += chance.randbytes(chance.randrange(60))
    offsets, used = walk_in_python(bytes(data), SEED)
    found, end = kernels.walk_frames(bytes(data), SEED)
    assert (found, end) == (offsets.tobytes(), used)
    assert kernels.walk_frames(memoryview(data), SEED ^ 1) == (b"", 0)


def test_what_is_not_bytes_is_refused() -> None:
    """W7: with an ordinary error."""
    assert kernels is not None
    for given in ((), (b"",), ("text", 1), (b"", "text"), (b"", -1)):
        with pytest.raises((TypeError, OverflowError)):
            kernels.walk_frames(*given)
