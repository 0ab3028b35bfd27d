"""LZ4 frames as Kafka's clients write them, decompressed by machine code with the interpreter's lock kept.

Every library gives the lock away meanwhile. That is right for megabytes; on the event loop a batch of 16 KiB takes ten
microseconds, and getting the lock back from the threads that write and flush takes a hundred.

Only what is beyond doubt is read here: blocks that refer to nothing outside themselves, without checksums, of 64 KiB at
most, and with the ends that the format asks for. Of everything else, and of all that is broken, it says `UNSURE`: then
the library decides. A block is sequences, the last one without a match; what is too large for half a token goes on:

    | token u8: how many literals, match size - 4 | more literals | literals | distance u16 | more match size | …
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from holdfast.record.compiled import compiled_with_lock
from holdfast.record.loops.memory import byte_at, copy, copy_8, copy_16, put_byte

UNSURE: Final = -1  # Also what does not fit: the library tells which of both it is.

_BLOCK_SIZE_MAX = 64 << 10
_HEADER = (0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82)  # Magic, flags, block size and checksum: of all such frames.
_HEADER_SIZE = len(_HEADER)
_MATCH_MIN = 4
_END_SIZE = 5  # The last bytes of a block are literals,
_LAST_MATCH_SIZE = 12  # and its last match begins this far from the end. Readers rely on both.
_NARROW, _WIDE = 8, 16  # Bytes that are copied at once.
_FURTHER = 15  # In half a token: the number goes on in further bytes,
_LAST = 255  # the last of which is less than this.


@compiled_with_lock
def _number_at(address: int) -> Any:
    return np.int64(byte_at(address))  # Numbers without a sign would make floats of addresses.


@compiled_with_lock
def expand_frame(source: int, size: int, target: int, room: int) -> int:
    """Decompress the frame at an address to another one, where there is so much room. Answers the size, or UNSURE."""
    if size < _HEADER_SIZE:
        return UNSURE
    for at in range(_HEADER_SIZE):
        if _number_at(source + at) != _HEADER[at]:
            return UNSURE
    position, end = source + _HEADER_SIZE, source + size
    written = 0
    while position + 4 <= end:
        packed = _number_at(position) | _number_at(position + 1) << 8 | _number_at(position + 2) << 16
        kind = _number_at(position + 3)  # 128: stored as it is. Nothing else belongs here: blocks are smaller.
        position += 4
        if packed == 0 and kind == 0:
            return written if position == end else UNSURE
        if packed > end - position or (kind != 0 and kind != 128):
            return UNSURE
        if kind == 0:
            expanded = _expand_block(position, packed, target + written, min(room - written, _BLOCK_SIZE_MAX))
            if expanded < 0:
                return UNSURE
            written += expanded
        else:
            if packed > _BLOCK_SIZE_MAX or packed > room - written:
                return UNSURE
            copy(target + written, position, packed)
            written += packed
        position += packed
    return UNSURE


@compiled_with_lock
def _expand_block(position: int, size: int, target: int, room: int) -> int:
    end, start, target_end = position + size, target, target + room
    last_match = start - _LAST_MATCH_SIZE  # None yet.
    while position < end:
        token = _number_at(position)
        position += 1
        literals = token >> 4
        if literals == _FURTHER:
            literals, position = _read_further(literals, position, end)
        if literals > end - position or literals > target_end - target:
            return UNSURE
        if end - position >= literals + _WIDE and target_end - target >= literals + _WIDE:
            copy_16(target, position)  # What is copied too much is overwritten.
            for done in range(_WIDE, literals, _WIDE):
                copy_16(target + done, position + done)
        else:
            copy(target, position, literals)
        target += literals
        position += literals
        if position == end:  # The only way out.
            is_whole = target - last_match >= _LAST_MATCH_SIZE and (last_match < start or literals >= _END_SIZE)
            return target - start if is_whole else UNSURE
        if end - position < 2:
            return UNSURE
        distance = _number_at(position) | _number_at(position + 1) << 8
        position += 2
        if distance == 0 or distance > target - start:
            return UNSURE
        length = token & _FURTHER
        if length == _FURTHER:
            length, position = _read_further(length, position, end)
        length += _MATCH_MIN
        if length > target_end - target:
            return UNSURE
        last_match = target
        _repeat(target, distance, length, target_end)
        target += length
    return UNSURE


@compiled_with_lock
def _read_further(number: int, position: int, end: int) -> tuple[int, int]:
    """A number that goes on, and the address after it; a number larger than any block if it breaks off."""
    while position < end:
        byte = _number_at(position)
        position += 1
        number += byte
        if byte < _LAST:
            return number, position
    return 1 << 40, position


@compiled_with_lock
def _repeat(target: int, distance: int, length: int, target_end: int) -> None:
    """Copy what was written so far back. What is copied may itself be written only by this."""
    if target_end - target < length + _WIDE or distance < _NARROW:
        for at in range(target, target + length):
            put_byte(at, byte_at(at - distance))
    elif distance >= _WIDE:
        for at in range(target, target + length, _WIDE):
            copy_16(at, at - distance)
    else:
        for at in range(target, target + length, _NARROW):
            copy_8(at, at - distance)
