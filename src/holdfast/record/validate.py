"""Look into the records of a client's batch before it is acknowledged: what no consumer could read is never stored.

Two ways, with the same rules. A few records are looked at in Python, which needs nothing to be loaded. Many are looked
at by a loop of machine code (`read_loops.check`): numba takes 100 MiB and half a second to load, so a broker that gets
no large batches never does, and one that gets the first one loads it in a thread.

What is compressed is decompressed only as far as it may go. `Validator.quick` does what is done within a millisecond;
everything else is for `validate`, in a thread.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple

import numpy as np

from holdfast.record.batch import BatchHeader
from holdfast.record.codec import TargetFull, decompress, decompress_into
from holdfast.record.errors import ExpandsTooFar, InvalidRecord
from holdfast.record.layout import ATTRIBUTES_AT, CODEC_MASK, HEADER_SIZE, Codec
from holdfast.record.spans import FINDINGS, RECORD_SIZE_MIN
from holdfast.record.varint import read_number

EXPANDED_SIZE_MAX: Final = 128 << 20  # Bytes of one batch's records.

_FEW: Final = 8  # Records: in Python about 2 µs each.
_QUICK_SIZE: Final = 1 << 20  # Bytes of records that machine code looks at without a thread.
_QUICK_PACKED_SIZE: Final = 128 << 10  # Compressed ones,
_SCRATCH_SIZE: Final = 256 << 10  # and what they may expand to: less than a millisecond for every codec.
_INT_SIZE_MAX: Final = 5  # Bytes of a number that clients read as one of 32 bits.
_LONG: Final = range(-(2**63), 2**63)


class Records(NamedTuple):
    """What is known of the records of a sound batch."""

    timestamp_min: int
    timestamp_max: int
    keyless: int  # The first record without a key; -1 if all have one.


class Validator:
    """Looks into batches on the event loop, as far as that is quick. Belongs to one thread."""

    def __init__(self) -> None:
        self._scratch: memoryview | None = None

    def quick(self, header: BatchHeader, batch: memoryview) -> Records | None:
        """The same as `validate`, or None: it would take too long here."""
        is_few = header.record_count <= _FEW and not is_native()
        if not (is_few or is_native()) or len(batch) > (_QUICK_PACKED_SIZE if header.codec else _QUICK_SIZE):
            return None
        data: memoryview | None = batch[HEADER_SIZE:]
        if header.codec != Codec.NONE:
            data = self._expand(header.codec, batch[HEADER_SIZE:])
        if data is None:
            return None
        return _check_few(header, data) if is_few else _check_many(header, data, at_once=True)

    def _expand(self, codec: int, packed: memoryview) -> memoryview | None:
        if self._scratch is None:
            self._scratch = memoryview(bytearray(_SCRATCH_SIZE))  # Made once: clearing memory costs more than using it.
        try:
            return self._scratch[: decompress_into(codec, packed, self._scratch)]
        except TargetFull:
            return None


_native: ModuleType | None = None  # `read_loops`, once its loop has run.


def is_native() -> bool:
    """Whether the machine code is loaded."""
    return _native is not None


def is_slow(batches: memoryview) -> bool:
    """Whether `Validator.quick` is not worth trying, told from the first header alone."""
    if len(batches) < HEADER_SIZE:
        return False
    if len(batches) > (_QUICK_PACKED_SIZE if batches[ATTRIBUTES_AT + 1] & CODEC_MASK else _QUICK_SIZE):
        return True
    return not is_native() and int.from_bytes(batches[HEADER_SIZE - 4 : HEADER_SIZE], "big") > _FEW


def validate(header: BatchHeader, batch: memoryview, expanded_size_max: int = EXPANDED_SIZE_MAX) -> Records:
    """Hold all records of a client's batch against the rules; the first that breaks one is raised as InvalidBatch."""
    data = batch[HEADER_SIZE:]
    if header.codec != Codec.NONE:
        data = decompress(header.codec, data, expanded_size_max)
    elif len(data) > expanded_size_max:
        raise ExpandsTooFar(header.codec, len(data), expanded_size_max)
    return _check_many(header, data)


def _check_many(header: BatchHeader, data: memoryview, *, at_once: bool = False) -> Records:
    global _native
    _check_fit(header, data)
    loops = _native or import_module("holdfast.record.read_loops")
    address = np.frombuffer(data, np.uint8).__array_interface__["data"][0]
    if _native is None:
        loops.check_at_once(0, 0, 0)  # The first call is what takes its time.
        _native = loops
    look = loops.check_at_once if at_once else loops.check
    found, index, at, keyless, delta_min, delta_max = look(address, len(data), header.record_count)
    if found != loops.FINE:
        raise InvalidRecord(header.base_offset, index, at - address, FINDINGS[found])
    return _records(header, keyless, delta_min, delta_max)


def _check_fit(header: BatchHeader, data: memoryview) -> None:
    if header.record_count * RECORD_SIZE_MIN > len(data):
        reason = f"{header.record_count} records do not fit into {len(data)} bytes"
        raise InvalidRecord(header.base_offset, header.record_count, len(data), reason)


def _records(header: BatchHeader, keyless: int, delta_min: int, delta_max: int) -> Records:
    low, high = header.base_timestamp + delta_min, header.base_timestamp + delta_max
    if low not in _LONG or high not in _LONG:
        raise InvalidRecord(header.base_offset, 0, 0, "a timestamp has more than 64 bits")
    return Records(low, high, keyless)


def _check_few(header: BatchHeader, data: memoryview) -> Records:
    _check_fit(header, data)
    position, keyless, deltas = 0, -1, []
    for index in range(header.record_count):
        start = position
        try:
            delta, has_key, position = _check_one(data, position, index)
        except (IndexError, ValueError) as failure:
            raise InvalidRecord(header.base_offset, index, start, str(failure)) from failure
        deltas.append(delta)
        if not has_key and keyless < 0:
            keyless = index
    if position != len(data):
        reason = f"{len(data) - position} bytes are left over after the last record"
        raise InvalidRecord(header.base_offset, header.record_count, position, reason)
    return _records(header, keyless, min(deltas), max(deltas))


def _check_one(data: memoryview, position: int, index: int) -> tuple[int, bool, int]:
    """The timestamp delta of a record, whether it has a key, and where it ends."""
    size, position = _read_int(data, position)
    if not 0 < size <= len(data) - position:
        raise ValueError("its size is wrong")
    end = position + size
    body = data[:end]
    delta, position = read_number(body, position + 1)
    offset_delta, position = _read_int(body, position)
    if offset_delta != index:
        raise ValueError(f"its offset is {offset_delta} where {index} is expected")
    key_size, position = _read_int(body, position)
    position = _skip(body, position, key_size)
    value_size, position = _read_int(body, position)
    position = _skip(body, position, value_size)
    count, position = _read_int(body, position)
    if not 0 <= count <= end - position:
        raise ValueError(f"{count} headers do not fit into its {end - position} bytes")
    for _ in range(count):
        name_size, position = _read_int(body, position)
        if name_size < 0:
            raise ValueError("a header has no key")
        position = _skip(body, position, name_size)
        header_size, position = _read_int(body, position)
        position = _skip(body, position, header_size)
    if position != end:
        raise ValueError(f"{end - position} bytes are left over in it")
    return delta, key_size >= 0, end


def _read_int(data: memoryview, position: int) -> tuple[int, int]:
    byte = data[position]
    if byte < 0x80:  # Nearly all are.
        return (byte >> 1) ^ -(byte & 1), position + 1
    number, after = read_number(data, position)
    if after - position > _INT_SIZE_MAX:
        raise ValueError("a number has more than 32 bits")
    return number, after


def _skip(data: memoryview, position: int, size: int) -> int:
    if size < -1 or size > len(data) - position:
        raise ValueError("its key, value or headers are malformed")
    return position + max(size, 0)
