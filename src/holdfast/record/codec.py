"""Compress and decompress the records of a batch. Whatever the bytes claim, no more memory is taken than allowed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import cramjam

from holdfast.record.batch import BatchHeader
from holdfast.record.errors import ExpandsTooFar, Undecodable, UnknownCodec
from holdfast.record.framing import LZ4_BLOCK_SIZE_MAX, lz4_frame, lz4_only_block, snappy_blocks
from holdfast.record.layout import HEADER_SIZE, Codec
from holdfast.types import Buffer

# Producers cap a batch before compressing it, at megabytes. What expands to more than this is an attack or a mistake.
EXPANDED_SIZE_MAX: Final = 512 * 1024 * 1024

_FIRST_GUESS_MIN: Final = 64 * 1024
_GROWTH: Final = 4  # Both the first guess of the ratio and the step after a guess that was too small.
_GZIP_LEVEL: Final = 6
_ZSTD_LEVEL: Final = 3
_TARGET_FULL: Final = "failed to write whole buffer"  # How `cramjam` says it; held by a test.


class TargetFull(Exception):
    """The records did not fit; internal to decompression, never shown to a caller."""


def compress(codec: int, data: Buffer) -> Buffer:
    """The records, compressed as a batch of this codec holds them."""
    if codec == Codec.NONE:
        return data
    if codec == Codec.GZIP:
        return memoryview(cramjam.gzip.compress(data, level=_GZIP_LEVEL))
    if codec == Codec.SNAPPY:
        return memoryview(cramjam.snappy.compress_raw(data))
    if codec == Codec.LZ4:
        return lz4_frame(data)
    if codec == Codec.ZSTD:
        return memoryview(cramjam.zstd.compress(data, level=_ZSTD_LEVEL))
    raise UnknownCodec(codec)


def decompress(codec: int, data: Buffer, size_max: int = EXPANDED_SIZE_MAX) -> memoryview:
    """The records that `data` holds, or ExpandsTooFar before they take more than `size_max` bytes."""
    if codec == Codec.NONE:
        return memoryview(data)
    size = min(max(_FIRST_GUESS_MIN, _GROWTH * len(data)), size_max)
    while True:
        target = memoryview(bytearray(size))
        try:
            return target[: decompress_into(codec, data, target)]
        except TargetFull:
            if size == size_max:
                raise ExpandsTooFar(codec, len(data), size_max) from None
            size = min(_GROWTH * size, size_max)


def decompress_into(codec: int, data: Buffer, target: memoryview) -> int:
    """Decompress to the start of `target` and return the size, or raise TargetFull. Releases the interpreter lock."""
    expand = _EXPANDERS.get(codec)
    if expand is None:
        raise UnknownCodec(codec)
    try:
        return expand(data, target)
    except (cramjam.DecompressionError, ValueError) as failure:
        if str(failure) == _TARGET_FULL:
            raise TargetFull from None
        raise Undecodable(codec, failure) from failure


def _expand_snappy(data: Buffer, target: memoryview) -> int:
    end = 0
    for block in snappy_blocks(memoryview(data)):
        size: int = cramjam.snappy.decompress_raw_len(block)
        if size > len(target) - end:
            raise TargetFull
        end += cramjam.snappy.decompress_raw_into(block, target[end : end + size])
    return end


def _expand_lz4(data: Buffer, target: memoryview) -> int:
    block = lz4_only_block(memoryview(data))
    if block is not None:
        room = target[:LZ4_BLOCK_SIZE_MAX]
        with suppress(cramjam.DecompressionError):  # It says nothing of why: the way through the frame does.
            return int(cramjam.lz4.decompress_block_into(block, room, output_len=len(room)))
    return int(cramjam.lz4.decompress_into(data, target))


_EXPANDERS: Final[dict[int, Callable[[Buffer, memoryview], int]]] = {
    Codec.GZIP: cramjam.gzip.decompress_into,
    Codec.SNAPPY: _expand_snappy,
    Codec.LZ4: _expand_lz4,
    Codec.ZSTD: cramjam.zstd.decompress_into,
}


def open_records(header: BatchHeader, batch: memoryview, size_max: int = EXPANDED_SIZE_MAX) -> memoryview:
    """The records of a whole batch, decompressed where they are compressed; a batch without records holds no bytes."""
    packed = batch[HEADER_SIZE:]
    if not packed:
        return packed
    return decompress(header.codec, packed, size_max)
