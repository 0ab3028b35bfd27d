"""Look into the records of a client's batch before it is acknowledged: what no consumer could read is never stored.

Machine code does it (`read_loops.check`), from C. Where that was not built, a few records are looked at in Python, by
the same rules, and many by the same loop from numba: it takes 100 MiB and half a second to load, so a broker that gets
no large batches never does, and one that gets the first one loads it in a thread. Where numba is not installed either,
Python looks at many as well, in a thread: about 2 µs a record instead of 0.02, while the event loop gets its turn every
5 ms.

What is compressed is decompressed only as far as it may go. `Validator.quick` does what is done within a millisecond;
everything else is for `validate`, in a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import addressof, c_char
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from holdfast.native import kernels
from holdfast.record.batch import BatchHeader
from holdfast.record.codec import TargetFull, decompress, decompress_into
from holdfast.record.columnar.spans import FINDINGS, RECORD_SIZE_MIN
from holdfast.record.errors import ExpandsTooFar, InvalidRecord
from holdfast.record.layout import ATTRIBUTES_AT, CODEC_MASK, HEADER_SIZE, Codec
from holdfast.record.varint import read_number

EXPANDED_SIZE_MAX: Final = 128 << 20  # Bytes of one batch's records.

_FEW: Final = 8  # Records that Python looks at on the loop: about 2 µs each.
_QUICK_SIZE: Final = 1 << 20  # Bytes of records that machine code looks at without a thread.
_QUICK_PACKED_SIZE: Final = 128 << 10  # Compressed ones,
_SCRATCH_SIZE: Final = 256 << 10  # and what they may expand to: less than a millisecond for every codec.
_LISTED_MAX: Final = 1000  # Records that are gone through in Python, at 1 µs each, to say which of them are wrong.
_FINE: Final = 0  # As `read_loops` says it.
_PLAIN_SIZE_MIN: Final = 7  # A size, attributes, a time, an offset, the sizes of key and value, no headers.
_PLAIN_NUMBER_MAX: Final = (1 << 14) - 1  # Of two bytes.
_NULL: Final = 1  # A size of -1.
_INT_SIZE_MAX: Final = 5  # Bytes of a number that clients read as one of 32 bits.
_BYTE: Final = c_char  # Its `from_buffer` is the cheapest way to an address.
_LONG: Final = range(-(2**63), 2**63)


class Records(NamedTuple):
    """What is known of the records of a sound batch."""

    timestamp_min: int
    timestamp_max: int
    keyless: int  # The first record without a key; -1 if all have one.


_new_records = partial(tuple.__new__, Records)


class Validator:
    """Looks into batches on the event loop, as far as that is quick. Belongs to one thread."""

    def __init__(self) -> None:
        self._scratch: memoryview | None = None
        self._scratch_at = 0  # Its address.

    def quick(self, header: BatchHeader, batch: memoryview) -> Records | None:
        """The same as `validate`, or None: it would take too long here. The batch can be written to."""
        codec = header.codec
        if len(batch) > (_QUICK_PACKED_SIZE if codec else _QUICK_SIZE):
            return None
        if header.record_count == 1 and not codec and (keyless := _look_at_plain(batch[HEADER_SIZE:])) is not None:
            records: Records = _new_records((header.base_timestamp, header.base_timestamp, keyless))
            return records
        loops = _native
        if loops is None:
            return self._quick_few(header, batch) if header.record_count <= _FEW else None
        address, size = addressof(_BYTE.from_buffer(batch)) + HEADER_SIZE, len(batch) - HEADER_SIZE
        if codec:
            address, size = self._expand_natively(loops, codec, batch, address)
        return None if size < 0 else _check_natively(header, loops.check_at_once, address, size)

    def _quick_few(self, header: BatchHeader, batch: memoryview) -> Records | None:
        packed = batch[HEADER_SIZE:]
        data = self._expand(header.codec, packed) if header.codec else packed
        return None if data is None else _check_in_python(header, data)

    def _expand_natively(self, loops: _Native, codec: int, batch: memoryview, address: int) -> tuple[int, int]:
        """Where the records are then, and how large; a size of -1 if that takes too long."""
        scratch = self._scratch or self._make_scratch()
        size = -1
        if codec == Codec.LZ4:
            size = loops.expand_lz4(address, len(batch) - HEADER_SIZE, self._scratch_at, len(scratch))
        if size < 0:  # Of another codec, of another form, or broken.
            data = self._expand(codec, batch[HEADER_SIZE:])
            size = -1 if data is None else len(data)
        return self._scratch_at, size

    def _expand(self, codec: int, packed: memoryview) -> memoryview | None:
        scratch = self._scratch or self._make_scratch()
        try:
            return scratch[: decompress_into(codec, packed, scratch)]
        except TargetFull:
            return None

    def _make_scratch(self) -> memoryview:
        self._scratch = memoryview(bytearray(_SCRATCH_SIZE))  # Made once: clearing memory costs more than using it.
        self._scratch_at = addressof(_BYTE.from_buffer(self._scratch))
        return self._scratch


_Check: TypeAlias = "Callable[[int, int, int], tuple[int, int, int, int, int, int]]"


class _Native(NamedTuple):
    """The loops of machine code."""

    check: _Check
    check_at_once: _Check
    expand_lz4: Callable[[int, int, int, int], int]


def _native_loops() -> _Native:
    from holdfast.record.loops import lz4_loops, read_loops

    assert read_loops.FINE == _FINE
    return _Native(read_loops.check, read_loops.check_at_once, lz4_loops.expand_frame)


_native: _Native | None = None if kernels is None else _native_loops()  # Those of numba once they have run.


def is_slow(batches: memoryview) -> bool:
    """Whether `Validator.quick` is not worth trying, told from the first header alone."""
    if len(batches) < HEADER_SIZE:
        return False
    if len(batches) > (_QUICK_PACKED_SIZE if batches[ATTRIBUTES_AT + 1] & CODEC_MASK else _QUICK_SIZE):
        return True
    return _native is None and int.from_bytes(batches[HEADER_SIZE - 4 : HEADER_SIZE], "big") > _FEW


def validate(header: BatchHeader, batch: memoryview, expanded_size_max: int = EXPANDED_SIZE_MAX) -> Records:
    """Hold all records of a client's batch against the rules; the first that breaks one is raised as InvalidBatch."""
    data = batch[HEADER_SIZE:]
    if header.codec != Codec.NONE:
        data = decompress(header.codec, data, expanded_size_max)
    elif len(data) > expanded_size_max:
        raise ExpandsTooFar(header.codec, len(data), expanded_size_max)
    loops = _native or _load()
    if loops is None:
        return _check_in_python(header, memoryview(data))
    address = np.frombuffer(data, np.uint8).__array_interface__["data"][0]  # The batch may be read only.
    return _check_natively(header, loops.check, address, len(data))


def records_without_key(header: BatchHeader, batch: memoryview, first: int) -> list[int]:
    """Which records of a sound batch have no key; of a large one only the `first`, since this must be quick."""
    if len(batch) > _QUICK_PACKED_SIZE or header.record_count > _LISTED_MAX:
        return [first]
    data = batch[HEADER_SIZE:]
    if header.codec:
        try:
            data = memoryview(decompress(header.codec, data, _SCRATCH_SIZE))
        except ExpandsTooFar:
            return [first]
    found, position = [], 0
    for index in range(header.record_count):
        size, position = _read_int(data, position)
        _, at = read_number(data, position + 1)
        _, at = _read_int(data, at)
        if _read_int(data, at)[0] < 0:
            found.append(index)
        position += size
    return found


def _check_natively(header: BatchHeader, check: _Check, address: int, size: int) -> Records:
    """Look at the records that lie at an address. Whoever calls keeps them there."""
    _check_fit(header, size)
    found, index, at, keyless, delta_min, delta_max = check(address, size, header.record_count)
    if found != _FINE:
        raise InvalidRecord(header.base_offset, index, at - address, FINDINGS[found])
    return _records(header, keyless, delta_min, delta_max)


def _load() -> _Native | None:
    """Those of numba; None where it is not installed."""
    global _native
    from holdfast.record.compiled import BY_NUMBA

    if not BY_NUMBA:
        return None
    loops = _native_loops()
    loops.check_at_once(0, 0, 0)  # The first call is what takes its time.
    loops.expand_lz4(0, 0, 0, 0)
    _native = loops
    return loops


def _check_fit(header: BatchHeader, size: int) -> None:
    if header.record_count * RECORD_SIZE_MIN > size:
        reason = f"{header.record_count} records do not fit into {size} bytes"
        raise InvalidRecord(header.base_offset, header.record_count, size, reason)


def _records(header: BatchHeader, keyless: int, delta_min: int, delta_max: int) -> Records:
    low, high = header.base_timestamp + delta_min, header.base_timestamp + delta_max
    if low not in _LONG or high not in _LONG:
        raise InvalidRecord(header.base_offset, 0, 0, "a timestamp has more than 64 bits")
    return Records(low, high, keyless)


def _check_in_python(header: BatchHeader, data: memoryview) -> Records:
    _check_fit(header, len(data))
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


def _look_at_plain(data: memoryview) -> int | None:
    """A single record of the most frequent form: no headers, a key of less than 64 bytes or none, all of it less than
    8 KiB. What `Records.keyless` is to say of it; None if it has another form, or breaks a rule."""
    if len(data) < _PLAIN_SIZE_MIN:
        return None
    size, at = data[0], 1
    if size >= 0x80:
        size, at = size & 0x7F | data[1] << 7, 2
    if at + (size >> 1) != len(data) or size & 1 or size > _PLAIN_NUMBER_MAX or data[at + 1] or data[at + 2]:
        return None  # Its size is not what is there, or it is later than the batch, or not the first of it.
    key = data[at + 3]
    at += 4
    if key != _NULL:
        if key & 1 or key >= 0x80:
            return None
        at += key >> 1
    if at + 1 >= len(data):
        return None
    value, at = data[at], at + 1
    if value >= 0x80:
        value, at = value & 0x7F | data[at] << 7, at + 1
    if at + (value >> 1) + 1 != len(data) or value & 1 or value > _PLAIN_NUMBER_MAX or data[-1]:
        return None
    return 0 if key == _NULL else -1


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
