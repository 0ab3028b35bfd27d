"""Compile all loops once where numba does it, so that later processes find them: `python -m holdfast.record.warm`."""

from __future__ import annotations

import numpy as np

from holdfast.record.batch import read_header
from holdfast.record.build import build
from holdfast.record.columnar.decode import decode
from holdfast.record.columnar.encode import encode
from holdfast.record.columnar.key_hash import partitions_of
from holdfast.record.records import Record
from holdfast.record.retain import retain
from holdfast.record.validate import validate


def warm() -> None:
    """Use everything that gets compiled."""
    batch = build([Record(b"key", b"value", 0, (("name", b"value"),)), Record()])
    encode(decode([batch]))
    validate(read_header(batch), memoryview(batch))
    retain(memoryview(batch), np.array([True, False]))
    keys = decode([batch]).key
    assert keys is not None
    partitions_of(keys, 2)


if __name__ == "__main__":
    warm()
