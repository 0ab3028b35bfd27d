"""The frames around compressed blocks that no library here writes or reads the way Kafka's clients expect.

Snappy as the Java clients send it, all numbers big-endian; other clients send one bare snappy block instead:

    | 82 'SNAPPY' 00 | version i32 | oldest compatible version i32 | size i32, snappy block | size i32, snappy block | …

An LZ4 frame of independent blocks, numbers little-endian, without checksums (the batch has one). Java clients refuse
blocks that refer to earlier ones, which is what `cramjam` writes:

    | 04 22 4d 18 | flags 60 | block size 40 | header checksum 82 | size u32, LZ4 block | … | 0 u32 |
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

import cramjam

from holdfast.types import Buffer

_SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
_SNAPPY_BLOCKS_AT: Final = 16

_LZ4_HEADER: Final = bytes.fromhex("04224d18 60 40 82")
LZ4_BLOCK_SIZE_MAX: Final = 64 * 1024  # What 40 in the header says; readers allocate that much.
_LZ4_STORED: Final = 1 << 31  # In a block's size: the block is not compressed.
_LZ4_END: Final = bytes(4)


def snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    """The snappy blocks of a framed or bare stream, or ValueError where the frame breaks off."""
    if bytes(data[: len(_SNAPPY_MAGIC)]) != _SNAPPY_MAGIC:
        yield data
        return
    position = _SNAPPY_BLOCKS_AT
    while position != len(data):
        if position + 4 > len(data):
            raise ValueError("the snappy frame breaks off")
        (size,) = struct.unpack_from(">i", data, position)
        position += 4
        if not 0 < size <= len(data) - position:
            raise ValueError(f"a snappy block claims {size} bytes where {len(data) - position} are left")
        yield data[position : position + size]
        position += size


def lz4_frame(data: Buffer) -> bytes:
    """Compress into an LZ4 frame that every Kafka client can read."""
    view = memoryview(data)
    pieces: list[Buffer] = [_LZ4_HEADER]
    for start in range(0, len(view), LZ4_BLOCK_SIZE_MAX):
        block = view[start : start + LZ4_BLOCK_SIZE_MAX]
        packed = memoryview(cramjam.lz4.compress_block(block, store_size=False))
        if len(packed) < len(block):
            pieces += (struct.pack("<I", len(packed)), packed)
        else:  # Random bytes grow; the format asks for them as they are.
            pieces += (struct.pack("<I", len(block) | _LZ4_STORED), block)
    pieces.append(_LZ4_END)
    return b"".join(pieces)


def lz4_only_block(data: memoryview) -> memoryview | None:
    """The block of a frame that is as clients write it and has one compressed block, as small batches do."""
    if bytes(data[: len(_LZ4_HEADER)]) != _LZ4_HEADER:
        return None
    start = len(_LZ4_HEADER) + 4
    end = start + int.from_bytes(data[start - 4 : start], "little")
    return data[start:end] if end + len(_LZ4_END) == len(data) and data[end:] == _LZ4_END else None
