"""Batches of a wanted size: one record of that size, or many records of about 1 KiB."""

from __future__ import annotations

import random

from holdfast.record.build import build
from holdfast.record.records import Record

RECORD_SIZE = 1024  # With its share of the batch's header, where there are many.
_START_MS = 1_700_000_000_000


def batch_of(size: int) -> bytes:
    """A batch of exactly `size` bytes."""
    count = max(size // RECORD_SIZE, 1)
    noise = random.Random(7).randbytes(size)
    value_size = RECORD_SIZE - 16
    records = [Record(None, noise[at * value_size : (at + 1) * value_size], _START_MS + at) for at in range(count - 1)]
    rest = size - len(build([*records, Record(None, b"", _START_MS + count)]))
    while (found := len(build([*records, Record(None, noise[:rest], _START_MS + count)]))) > size:
        rest -= found - size  # The last record takes what is left; its size's own bytes count, too.
    return bytes(build([*records, Record(None, noise[:rest], _START_MS + count)]))


def record_count(size: int) -> int:
    return max(size // RECORD_SIZE, 1)
