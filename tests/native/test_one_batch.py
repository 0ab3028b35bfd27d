"""Machine code for produce requests says what Python says, or nothing."""

from __future__ import annotations

import random
import struct

import pytest
from crc32c import crc32c

from holdfast.broker.net.one_batch import OneBatch, decode_one
from holdfast.errors import HoldfastError
from holdfast.native import kernels
from holdfast.protocol.header import decode_request_header
from holdfast.protocol.hot.produce import decode_request
from holdfast.protocol.wire import encode_varint
from holdfast.record.batch import BatchHeader, check, place, place_in_python
from holdfast.record.build import build
from holdfast.record.layout import ATTRIBUTES_AT, CRC_AT, HEADER_SIZE, Codec
from holdfast.record.records import Record
from holdfast.record.validate import _check_in_python

pytestmark = pytest.mark.skipif(kernels is None, reason="no machine code was built: cc or Python.h is missing")

VERSIONS = range(3, 14)
_SIZE_MAX = 1 << 30


def by_python(frame: memoryview) -> OneBatch:
    """What is said of the frame step by step; whatever breaks a rule is raised."""
    header = decode_request_header(frame)
    message = decode_request(header.api_version, frame[header.body :])
    (topic,) = message.topics
    (part,) = topic.partitions
    assert part.records is not None
    batch = check(part.records, _SIZE_MAX)
    return header, message, batch, _check_in_python(batch, part.records[HEADER_SIZE:]) if not batch.codec else None


def produce(
    version: int,
    batch: bytes,
    topic: str = "orders",
    client: str | None = "me",
    transaction: str | None = None,
    acks: int = -1,
    partition: int = 3,
) -> memoryview:
    flexible = version >= 9

    def string(text: str | None, *, compact: bool = flexible) -> bytes:
        raw = b"" if text is None else text.encode()
        if compact:
            return encode_varint(0 if text is None else len(raw) + 1) + raw
        return struct.pack(">h", -1 if text is None else len(raw)) + raw

    one, tags = (b"\x02", b"\x00") if flexible else (struct.pack(">i", 1), b"")
    name = bytes(range(16)) if version >= 13 else string(topic)
    size = encode_varint(len(batch) + 1) if flexible else struct.pack(">i", len(batch))
    head = struct.pack(">hhi", 0, version, 77) + string(client, compact=False) + tags
    body = string(transaction) + struct.pack(">hi", acks, 1500) + one + name + one + struct.pack(">i", partition)
    return memoryview(bytearray(head + body + size + batch + tags * 3))


def some_batch(dice: random.Random, codec: Codec = Codec.NONE) -> bytes:
    records = [
        Record(
            dice.choice([None, b"", bytes(dice.randrange(200))]),
            dice.choice([None, b"", bytes(dice.randrange(3000))]),
            1_700_000_000_000 + dice.randrange(-(10**6), 10**6),
            tuple((f"h{n}", dice.choice([None, b"x" * n])) for n in range(dice.choice([0, 0, 0, 1, 70]))),
        )
        for _ in range(dice.choice([1, 1, 2, 9, 40]))
    ]
    return bytes(build(records, codec=codec))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", range(20))
def test_a_usual_request_is_read_as_python_reads_it(version: int, seed: int) -> None:
    """K1: every version, with and without keys, headers, client and transaction."""
    dice = random.Random(seed * 100 + version)
    frame = produce(
        version,
        some_batch(dice),
        topic=dice.choice(["t", "a" * 100, "grün"]),
        client=dice.choice([None, "", "client"]),
        transaction=dice.choice([None, "mine"]),
        acks=dice.choice([-1, 0, 1, 7]),
        partition=dice.choice([0, 5, -1]),
    )
    found = decode_one(frame)
    assert found is not None
    assert found == by_python(frame)
    assert [type(each) for each in found] == [type(each) for each in by_python(frame)]
    records = found[1].topics[0].partitions[0].records
    assert records is not None
    assert not records.readonly
    assert records.obj is frame.obj


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec])
def test_of_compressed_records_it_says_nothing(codec: Codec) -> None:
    frame = produce(9, some_batch(random.Random(1), codec))
    assert decode_one(frame) == (*by_python(frame)[:3], None)


@pytest.mark.parametrize("seed", range(60))
def test_it_takes_nothing_that_python_refuses(seed: int) -> None:
    """D9: bytes changed at random, with the crc put right, so that also the records are looked at."""
    dice = random.Random(seed)
    taken = 0
    for _ in range(300):
        version = dice.choice(VERSIONS)
        batch = bytearray(some_batch(dice))
        if dice.random() < 0.7:
            for _ in range(dice.choice([1, 1, 2, 5])):
                batch[dice.randrange(len(batch))] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)])
            batch[CRC_AT:ATTRIBUTES_AT] = struct.pack(">I", crc32c(bytes(batch[ATTRIBUTES_AT:])))
        frame = produce(version, bytes(batch))
        if dice.random() < 0.5:
            frame[dice.randrange(len(frame) - len(batch))] = dice.randrange(256)
        if dice.random() < 0.2:
            frame = memoryview(bytearray(frame[: dice.randrange(len(frame) + 1)]))
        found = decode_one(frame)
        if found is None:
            continue
        taken += 1
        try:
            wanted = by_python(frame)
        except HoldfastError as failure:
            raise AssertionError(f"taken, but: {failure}") from failure
        assert found == wanted
    assert taken > 20


def test_a_request_with_a_wrong_crc_is_left_to_python() -> None:
    """D9: whatever bit of the batch has changed."""
    frame = produce(9, some_batch(random.Random(5)))
    start = decode_one(frame)[1].topics[0].partitions[0].records.nbytes  # type: ignore[index,union-attr]
    for at in range(len(frame) - 3 - start + CRC_AT, len(frame) - 3, 7):
        frame[at] ^= 4
        assert decode_one(frame) is None
        frame[at] ^= 4
    assert decode_one(frame) is not None


def test_everything_else_is_left_to_python() -> None:
    batch = some_batch(random.Random(3))
    tagged = produce(9, batch)
    tagged[-1] = 1
    assert decode_one(tagged) is None
    for frame in (
        b"",
        b"\x00",
        bytes(7),
        bytes(200),
        bytes(produce(9, batch))[:-1],
        bytes(produce(9, batch)) + b"\x00",
    ):
        assert decode_one(memoryview(bytearray(frame))) is None
    fetch = produce(9, batch)
    fetch[1] = 1
    assert decode_one(fetch) is None
    assert decode_one(produce(9, batch + batch)) is None
    assert decode_one(produce(14, batch)) is None
    large = bytes(build([Record(None, bytes(130 << 10), 1)]))
    assert decode_one(produce(9, large)) is None


def test_a_name_that_is_no_text_is_left_to_python() -> None:
    frame = produce(3, some_batch(random.Random(4)), topic="abc")
    at = bytes(frame).index(b"abc")
    frame[at] = 0xFF
    assert decode_one(frame) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_is_placed_as_python_places_it(seed: int) -> None:
    """L1: offset and epoch are written into the bytes, and nothing else changes."""
    dice = random.Random(seed)
    batch = some_batch(dice)
    header = check(memoryview(batch), _SIZE_MAX)
    where = dice.randrange(2**62), dice.randrange(2**31), dice.randrange(-1, 2**50)
    by_c, by_hand = memoryview(bytearray(batch)), memoryview(bytearray(batch))
    assert place(by_c, header, *where) == place_in_python(by_hand, header, *where)
    assert by_c == by_hand
    assert type(place(by_c, header, *where)) is BatchHeader


def test_what_is_no_batch_is_not_placed() -> None:
    header = check(memoryview(some_batch(random.Random(1))), _SIZE_MAX)
    with pytest.raises(ValueError, match="so short"):
        place(memoryview(bytearray(60)), header, 1, 1, 1)
    with pytest.raises(ValueError, match="so large"):
        place(memoryview(bytearray(100)), header, 1, 1 << 40, 1)
    with pytest.raises(BufferError):
        place(memoryview(bytes(100)), header, 1, 1, 1)
    with pytest.raises(TypeError):
        place(memoryview(bytearray(100)), (1, 2), 1, 1, 1)
