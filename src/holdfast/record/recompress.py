"""A client's batch in another codec, where its topic says so: `compression.type`. The records stay as they are."""

from __future__ import annotations

import struct

from crc32c import crc32c

from holdfast.record.batch import BatchHeader, read_header
from holdfast.record.codec import compress, open_records
from holdfast.record.errors import TooLarge
from holdfast.record.layout import ATTRIBUTES_AT, CODEC_MASK, CRC_AT, HEADER_SIZE, LENGTH_END


def recompress(
    header: BatchHeader, batch: memoryview, codec: int, size_max: int, expanded_size_max: int
) -> tuple[BatchHeader, memoryview]:
    """Decompress and compress: for a thread. TooLarge when that makes more than `size_max` of it."""
    packed = compress(codec, open_records(header, batch, expanded_size_max))
    size = HEADER_SIZE + len(packed)
    if size > size_max:
        raise TooLarge(size, size_max)
    made = memoryview(bytearray(size))
    made[:HEADER_SIZE], made[HEADER_SIZE:] = batch[:HEADER_SIZE], packed
    struct.pack_into(">i", made, LENGTH_END - 4, size - LENGTH_END)
    struct.pack_into(">h", made, ATTRIBUTES_AT, header.attributes & ~CODEC_MASK | codec)
    struct.pack_into(">I", made, CRC_AT, crc32c(made[ATTRIBUTES_AT:]))
    return read_header(made), made
