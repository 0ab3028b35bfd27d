"""Memory that ends where a batch ends: reading one byte past it kills the process.

Run as a program: `guarded.py fuzz <seed> <count>` damages batches and decodes them there, against the plain reader;
`guarded.py overrun` reads that one byte, to show that the guard is up.
"""

from __future__ import annotations

import ctypes
import mmap
import random
import struct
import sys

from crc32c import crc32c

from holdfast.errors import Corrupt
from holdfast.record.build import build
from holdfast.record.columnar.columns import Column
from holdfast.record.columnar.decode import Decoder
from holdfast.record.errors import InvalidBatch
from holdfast.record.records import Record, read_records

PAGE = mmap.PAGESIZE
PAGES = 16
RECORDS_AT = 61


class Guarded:
    """A few pages, after which there is nothing."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, (PAGES + 1) * PAGE)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.end = self.address + PAGES * PAGE
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        if protect(self.end, PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")

    def place(self, data: bytes | bytearray) -> memoryview:
        """The bytes, so that the last one is the last that can be read."""
        start = PAGES * PAGE - len(data)
        self._memory[start : PAGES * PAGE] = bytes(data)
        return memoryview(self._memory)[start : PAGES * PAGE]


def sample(chance: random.Random) -> bytearray:
    """A batch of a few records of all kinds."""
    records = [
        Record(
            chance.choice((None, b"", chance.randbytes(chance.randrange(100)))),
            chance.choice((None, b"", chance.randbytes(chance.choice((5, 63, 64, 300))))),
            chance.choice((0, -1, 1000, 10**12)),
            tuple(
                ("h" * chance.randrange(4), chance.choice((None, b"", b"x"))) for _ in range(chance.choice((0, 0, 3)))
            ),
        )
        for _ in range(chance.randrange(1, 12))
    ]
    return build(records)


def damage(chance: random.Random, batch: bytearray) -> bytearray:
    """Change a few bytes of the records, or cut or stretch them, and make size and crc right again."""
    damaged = bytearray(batch)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 4))):
        at = chance.randrange(RECORDS_AT, len(damaged))
        damaged[at] = chance.choice((damaged[at] ^ 1 << chance.randrange(8), chance.randrange(256), 0xFF, 0x80, 1))
    if chance.random() < 0.2:
        del damaged[chance.randrange(RECORDS_AT, len(damaged) + 1) :]
    if chance.random() < 0.1:
        damaged += chance.randbytes(chance.randrange(12))
    if chance.random() < 0.1:
        struct.pack_into(">i", damaged, 57, chance.randrange(0, 30))
        struct.pack_into(">i", damaged, 23, chance.randrange(0, 30))
    struct.pack_into(">i", damaged, 8, len(damaged) - 12)
    struct.pack_into(">I", damaged, 17, crc32c(memoryview(damaged)[21:]))
    return damaged


def plain(batch: memoryview) -> list[tuple[int | None, bytes | None, bytes | None, int]] | None:
    """What the plain reader makes of it; None if it refuses."""
    try:
        return [(r.offset, r.key, r.value, _wrapped(r.timestamp)) for r in read_records(batch)]
    except InvalidBatch:
        return None


def native(batch: memoryview) -> list[tuple[int | None, bytes | None, bytes | None, int]] | None:
    """What the loops make of it; None if they refuse."""
    try:
        columns = Decoder().decode([batch])
    except Corrupt:
        return None
    assert columns.key is not None
    assert columns.value is not None
    numbers = zip(columns.offset.tolist(), columns.timestamp.tolist(), strict=True)
    return [(offset, columns.key[n], columns.value[n], time) for n, (offset, time) in enumerate(numbers)]


def _wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def fuzz(seed: int, count: int) -> None:
    """Damage, decode, compare. Prints how many were refused."""
    chance = random.Random(seed)
    guarded = Guarded()
    refused = 0
    for number in range(count):
        batch = guarded.place(damage(chance, sample(chance)))
        expected = (
            plain(batch)
            if struct.unpack_from(">i", batch, 57)[0] <= struct.unpack_from(">i", batch, 23)[0] + 1
            else None
        )
        found = native(batch)
        assert found == expected, (seed, number, bytes(batch).hex())
        refused += found is None
        for columns in (Column.NONE, Column.KEY, Column.VALUE):  # These look less far, and may not notice.
            try:
                Decoder(columns).decode([batch])
            except Corrupt:
                assert found is None, (seed, number, columns, bytes(batch).hex())
    print(refused)


if __name__ == "__main__":
    if sys.argv[1] == "overrun":
        ctypes.string_at(Guarded().end - 1, 2)
    else:
        fuzz(int(sys.argv[2]), int(sys.argv[3]))
