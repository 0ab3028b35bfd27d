"""K12: what no consumer could read is told from what all can, in Python for few records as in machine code for many."""

from __future__ import annotations

import random
import struct
import sys
import threading
import time
from collections.abc import Callable

import pytest
from crc32c import crc32c
from tests.record.bombs import BOMBS
from tests.record.samples import SAMPLES
from tests.record.test_malformed import BAD, malformed

from holdfast.record import validate as module
from holdfast.record.batch import BatchHeader, read_header
from holdfast.record.build import Envelope, Extent, build, seal
from holdfast.record.errors import ExpandsTooFar, InvalidBatch, InvalidRecord
from holdfast.record.layout import HEADER_SIZE, Codec
from holdfast.record.records import Record
from holdfast.record.validate import Records, Validator, validate

Way = Callable[[memoryview], Records]


def few(batch: memoryview) -> Records:
    return module._check_in_python(read_header(batch), batch[HEADER_SIZE:])


def many(batch: memoryview) -> Records:
    return validate(read_header(batch), batch)


def said_to_be(codec: int, packed: bytes) -> memoryview:
    """A batch of one record, with a right crc around any bytes."""
    batch = seal(bytearray(HEADER_SIZE) + packed, Extent(1, 0, 0, 0), Envelope())
    struct.pack_into(">h", batch, 21, codec)
    struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    return memoryview(batch)


WAYS = pytest.mark.parametrize("way", [few, many])

CLIENTS_FAIL = {  # Our own decoder is more patient: these break rules that clients hold numbers against.
    "a gap between offsets": malformed("0c 00 00 00 01 01 00 0c 00 00 04 01 01 00", 2, 2),
    "a first offset of one": malformed("0c 00 00 02 01 01 00", 1, 1),
    "a record size of six bytes": malformed("8c 80 80 80 80 00 00 00 00 01 01 00"),
    "an offset of six bytes": malformed("16 00 00 80 80 80 80 80 00 01 01 00"),
    "a key size of six bytes": malformed("16 00 00 00 81 80 80 80 80 00 01 00"),
}


@WAYS
@pytest.mark.parametrize("name", [*BAD, *CLIENTS_FAIL])
def test_what_readers_refuse_is_refused(way: Way, name: str) -> None:
    """K12: every malformed record that a reader would stop at, by its index, or that of one before it."""
    batch = memoryview(BAD[name][0] if name in BAD else CLIENTS_FAIL[name])
    with pytest.raises(InvalidRecord) as refused:
        way(batch)
    assert name not in BAD or refused.value.index <= BAD[name][1]


@WAYS
def test_more_records_are_said_than_there_are(way: Way) -> None:
    """K12: one record that says it is five, or 2,147,483,647."""
    for count in (5, 2**31 - 1):
        with pytest.raises(InvalidRecord):
            way(memoryview(malformed("0c 00 00 00 01 01 00", count, count - 1)))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("codec", list(Codec))
def test_sound_batches_are_taken(name: str, codec: Codec) -> None:
    """K12: whatever the codec, and both ways say the same of times and keys."""
    records = [each._replace(offset=None) for each in SAMPLES[name]]
    if not records:
        return
    batch = memoryview(build(records, codec=codec))
    found = validate(read_header(batch), batch)
    times = [each.timestamp for each in records]
    keyless = next((index for index, each in enumerate(records) if each.key is None), -1)
    assert found == Records(min(times), max(times), keyless)
    plain = memoryview(build(records))
    assert few(plain) == found
    assert Validator().quick(read_header(batch), batch) == (None if len(plain) > 256 << 10 else found)


def test_both_ways_agree_on_damaged_bytes() -> None:
    """K12: 3,000 batches with a byte or two changed are sound to both or to neither, and nothing outside is read."""
    chance = random.Random(7)
    records = [Record(bytes(3), bytes(index % 5), index, (("h", b"v"),)) for index in range(6)]
    sound = bytes(build(records))
    told = {True: 0, False: 0}
    for _ in range(3000):
        batch = bytearray(sound)
        for _ in range(chance.randint(1, 2)):
            batch[chance.randrange(HEADER_SIZE, len(batch))] = chance.randrange(256)
        said = [_said(way, memoryview(batch)) for way in (few, many)]
        assert said[0] == said[1], batch.hex()
        told[said[0] is not None] += 1
    assert all(told.values())


def _said(way: Way, batch: memoryview) -> Records | None:
    try:
        return way(batch)
    except InvalidBatch:
        return None


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_on_the_loop_the_lock_of_the_interpreter_is_kept(codec: Codec) -> None:
    """K12: given away for each batch, it takes longer to come back than the look at the records takes."""
    batch = memoryview(build([Record(b"key", b"value" * 20, number) for number in range(150)], codec=codec))
    header, validator = read_header(batch), Validator()
    validate(header, batch)  # Loads the machine code.
    turns, ended = [0], threading.Event()

    def spin() -> None:
        while not ended.is_set():
            turns[0] += 1

    before, other = sys.getswitchinterval(), threading.Thread(target=spin)
    sys.setswitchinterval(0.3)  # Who has the lock has it for so long, unless it gives it away.
    try:
        other.start()
        kept = [_keeps_lock(validator, header, batch, turns) for _ in range(3)]
        assert sum(kept) >= 2, kept  # On a busy machine one interval may end meanwhile.
    finally:
        sys.setswitchinterval(before)
        ended.set()
        other.join()


def _keeps_lock(validator: Validator, header: BatchHeader, batch: memoryview, turns: list[int]) -> bool:
    """Whether the other thread stands still while many batches are looked at."""
    time.sleep(0)  # The lock comes back from the other thread, for a whole interval.
    began = turns[0]
    for _ in range(500):
        assert validator.quick(header, batch) is not None
        if turns[0] != began:
            return False
    return True


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_not_followed_to_its_end(name: str) -> None:
    """K12: what expands past the limit is refused there; on the loop it is not even followed so far."""
    codec, packed = BOMBS[name]()
    packed = packed if len(packed) < 1 << 20 else packed[: 1 << 20]
    batch = said_to_be(codec, packed)
    header = read_header(batch)
    assert Validator().quick(header, batch) is None
    with pytest.raises(ExpandsTooFar):
        validate(header, batch, 1 << 20)


@pytest.mark.parametrize("codec", [each for each in Codec if each])
def test_rubbish_that_says_it_is_compressed_is_refused(codec: Codec) -> None:
    """K12."""
    batch = said_to_be(codec, b"rubbish" * 9)
    with pytest.raises(InvalidBatch):
        validate(read_header(batch), batch)
    with pytest.raises(InvalidBatch):
        Validator().quick(read_header(batch), batch)


def test_a_single_record_is_held_against_the_same_rules() -> None:
    """K12: the short way for a single record takes only what the long way takes, and says the same of it."""
    chance, taken = random.Random(19), 0
    sizes = (0, 1, 62, 63, 64, 200, 8_100, 8_190, 8_200)
    for _ in range(20_000):
        key = None if chance.random() < 0.5 else bytes(chance.choice(sizes[:6]))
        value = None if chance.random() < 0.1 else bytes(chance.choice(sizes))
        headers = (("a", b"b"),) if chance.random() < 0.2 else ()
        batch = memoryview(bytearray(build([Record(key, value, 1000, headers)])))
        for _ in range(chance.randrange(3)):
            at = HEADER_SIZE + min(int(chance.expovariate(0.2)), len(batch) - HEADER_SIZE - 1)
            batch[chance.choice([at, len(batch) - 1])] = chance.choice([0, 1, 2, 0x7F, 0x80, 0xFF])
        keyless = module._look_at_plain(batch[HEADER_SIZE:])
        if keyless is not None:
            taken += 1
            assert few(batch) == (1000, 1000, keyless), bytes(batch)
    assert taken > 1_000
