"""K12: lz4 on the event loop: our loop reads what the library reads, is silent on the rest, and stays in bounds."""

from __future__ import annotations

import random
from ctypes import addressof, c_char

import cramjam
import lz4.frame
import pytest

from holdfast.record.codec import compress, decompress
from holdfast.record.errors import InvalidBatch
from holdfast.record.framing import lz4_frame
from holdfast.record.layout import Codec
from holdfast.record.loops.lz4_loops import UNSURE, expand_frame

HEADER = bytes.fromhex("04224d18604082")
GUARD = b"\xa5" * 64


def expand(frame: bytes, room: int = 256 << 10) -> bytes | None:
    """What our loop makes of a frame; nothing outside the room may change."""
    source, target = bytearray(frame), bytearray(GUARD + bytes(room) + GUARD)
    at, place = (addressof(c_char.from_buffer(each)) for each in (source, target))
    size = expand_frame(at, len(source), place + len(GUARD), room)
    assert target[: len(GUARD)] == GUARD
    assert target[len(GUARD) + room :] == GUARD
    assert source == frame
    return None if size == UNSURE else bytes(target[len(GUARD) : len(GUARD) + size])


def text(chance: random.Random, size: int, words: int) -> bytes:
    known = [chance.randbytes(chance.randint(1, 30)) for _ in range(words)]
    made = bytearray()
    while len(made) < size:
        made += chance.choice(known) * chance.choice((1, 1, 1, 2, 40))
    return bytes(made[:size])


def framed(*blocks: bytes) -> bytes:
    return HEADER + b"".join(len(each).to_bytes(4, "little") + each for each in blocks) + bytes(4)


SAMPLES = {
    "nothing but one byte": b"x",
    "one byte again and again": b"a" * 60_000,
    "two bytes in turn": b"ab" * 20_000,
    "seven bytes in turn": b"abcdefg" * 5_000,
    "nine bytes in turn": b"abcdefghi" * 5_000,
    "random bytes, which are stored": random.Random(1).randbytes(50_000),
    "just one block": text(random.Random(2), 64 << 10, 50),
    "several blocks": text(random.Random(3), 200_000, 300),
    "long literals": random.Random(4).randbytes(3_000) + b"z" * 5_000 + random.Random(4).randbytes(3_000),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_it_reads_what_clients_write(name: str) -> None:
    """K12: every frame in the form that Java and librdkafka write is decompressed here, and comes out right."""
    assert expand(lz4_frame(SAMPLES[name])) == SAMPLES[name]


def test_texts_of_all_sizes_come_out_right() -> None:
    chance = random.Random(5)
    for _ in range(500):
        plain = text(chance, chance.randint(1, 3_000), chance.randint(1, 60))
        assert expand(lz4_frame(plain), len(plain)) == plain, plain.hex()


def test_other_frames_are_left_to_the_library() -> None:
    """K12: blocks that refer to one another, checksums, a size in front: nothing is guessed."""
    assert expand(bytes(cramjam.lz4.compress(SAMPLES["several blocks"]))) is None
    plain = SAMPLES["several blocks"]
    assert expand(lz4.frame.compress(plain, block_linked=True, store_size=False)) is None
    assert expand(lz4.frame.compress(plain, block_linked=False, block_checksum=True, store_size=False)) is None
    assert expand(lz4.frame.compress(plain, block_linked=False, content_checksum=True, store_size=False)) is None
    assert expand(lz4.frame.compress(plain, block_linked=False, store_size=True)) is None
    assert expand(HEADER[:3]) is None
    assert expand(HEADER) is None


@pytest.mark.parametrize("name", [name for name, plain in SAMPLES.items() if len(plain) > 1])
def test_too_little_room_is_never_exceeded(name: str) -> None:
    plain = SAMPLES[name]
    for room in {0, 1, 7, 15, 16, 17, len(plain) // 2, len(plain) - 17, len(plain) - 1}:
        assert expand(lz4_frame(plain), room) is None


BROKEN = {
    "a distance of nothing": framed(bytes.fromhex("10 61 0000 50 6161616161")),
    "a distance to before the block": framed(bytes.fromhex("10 61 0200 80 6161616161616161")),
    "a match at the very end": framed(bytes.fromhex("10 61 0100")),
    "too few literals at the end": framed(bytes.fromhex("1f 61 0100 10 40 61616161")),
    "a last match too near to the end": framed(bytes.fromhex("10 61 0100 50 6161616161")),
    "literals that break off": framed(bytes.fromhex("80 6161")),
    "a number without an end": framed(bytes.fromhex("f0 ffffff")),
    "a block that says too much": HEADER + bytes.fromhex("ff000000 10 61"),
    "bytes behind the end": framed(bytes.fromhex("10 61")) + b"x",
    "no end": framed(bytes.fromhex("10 61"))[:-4],
    "a block of more than 64 KiB": framed(
        bytes.fromhex("1f 61 0100") + b"\xff" * 300 + bytes.fromhex("00 50 6161616161")
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_beyond_doubt_is_left_to_the_library(name: str) -> None:
    """K12: also what one library reads and another may not."""
    assert expand(BROKEN[name]) is None


def test_whatever_it_reads_the_library_reads_too() -> None:
    """K12: 20,000 damaged frames: what comes out is what the library makes of them, and the library can."""
    chance = random.Random(6)
    frames = [bytes(compress(Codec.LZ4, text(chance, size, 20))) for size in (40, 300, 2_000)]
    told = {True: 0, False: 0}
    for number in range(20_000):
        frame = bytearray(frames[number % 3])
        for _ in range(chance.randint(1, 3)):
            frame[chance.randrange(len(HEADER), len(frame))] = chance.randrange(256)
        found = expand(bytes(frame), 8 << 10)
        told[found is not None] += 1
        if found is not None:
            assert bytes(_by_library(bytes(frame))) == found, frame.hex()
    assert all(told.values()), told


def _by_library(frame: bytes) -> memoryview:
    try:
        return decompress(Codec.LZ4, frame)
    except InvalidBatch as failure:
        raise AssertionError(f"the library refuses what was read: {frame.hex()}") from failure
