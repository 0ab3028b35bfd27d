"""The layout of a segment. All numbers are little-endian; batches are as sent, big-endian.

    | header | batches … | index | producers | aborted | footer |

    header    | magic 8s | version u16 | reserved u16 | partition u32 | topic_id 16s | base i64 | crc32c u32 |
    index     one entry of 32 bytes per interval, which is one or more whole batches:
              | base_offset i64 | position i64 | max_timestamp i64 | crc32c u32 | batch_count u32 |
              max_timestamp is that of all batches from the segment's start to the interval's end;
              the crc covers the interval's bytes, also those that a batch's own crc leaves out
    producers JSON, see `producers`: of those that wrote in it, as of its end; may be empty
              (version 1: of all that the partition knew then)
    aborted   32 bytes each: | producer_id i64 | first_offset i64 | last_offset i64 | last_stable_offset i64 |
    footer    | topic_id 16s | partition u32 | flags u32 | base i64 | end i64 | min_timestamp i64 | max_timestamp i64 |
              | record_count u64 | batch_count u64 | index_position u64 | index_size u64 | producers_size u64 |
              | aborted_size u64 | sections_crc32c u32 | version u16 | footer_size u16 | magic 4s | crc32c u32 |

Every version ends with the last four fields of the footer, so that a newer one is recognised before it is read.
The footer's crc covers all of the footer before it; the sections' crc covers index, producers and aborted.
"""

from __future__ import annotations

import struct
from typing import NamedTuple
from uuid import UUID

import numpy as np
from crc32c import crc32c

from holdfast.segment.errors import Damaged, NewerFormat
from holdfast.types import Buffer, PartitionId

VERSION = 2
COMPACTED = 1  # A flag: the batches need not follow each other without holes.

_HEADER_MAGIC = b"HFSEGMNT"
_FOOTER_MAGIC = b"HFSE"
_HEADER = struct.Struct("<8sHHI16sq")
_CRC = struct.Struct("<I")
_FOOTER = struct.Struct("<16sIIqqqqQQQQQQI")
_ENDING = struct.Struct("<HH4sI")

HEADER_SIZE = _HEADER.size + _CRC.size
FOOTER_SIZE = _FOOTER.size + _ENDING.size

INDEX_ENTRY = np.dtype(
    [("base_offset", "<i8"), ("position", "<i8"), ("max_timestamp", "<i8"), ("crc", "<u4"), ("batch_count", "<u4")]
)
ABORTED_ENTRY = np.dtype(
    [("producer_id", "<i8"), ("first_offset", "<i8"), ("last_offset", "<i8"), ("last_stable_offset", "<i8")]
)

# In the store: changing one of these needs a new version.
assert HEADER_SIZE == 44
assert FOOTER_SIZE == 120
assert INDEX_ENTRY.itemsize == ABORTED_ENTRY.itemsize == 32


class Footer(NamedTuple):
    """What the end of a segment says of it."""

    topic_id: bytes
    partition: int
    flags: int
    base: int
    end: int
    min_timestamp: int
    max_timestamp: int
    record_count: int
    batch_count: int
    index_position: int  # Where the batches end.
    index_size: int
    producers_size: int
    aborted_size: int
    sections_crc: int

    @property
    def home(self) -> PartitionId:
        return PartitionId(UUID(bytes=self.topic_id), self.partition)

    @property
    def tail_size(self) -> int:
        return self.index_size + self.producers_size + self.aborted_size + FOOTER_SIZE

    @property
    def size(self) -> int:
        """The size of the whole segment."""
        return self.index_position + self.tail_size


def encode_header(home: PartitionId, base: int, version: int = VERSION) -> bytes:
    fixed = _HEADER.pack(_HEADER_MAGIC, version, 0, home.partition, home.topic_id.bytes, base)
    return fixed + _CRC.pack(crc32c(fixed))


def check_header(name: str, header: Buffer, home: PartitionId, base: int) -> None:
    """Raise unless the header is the one this segment was given."""
    view = memoryview(header)[:HEADER_SIZE]
    if len(view) < HEADER_SIZE or view[:8] != _HEADER_MAGIC:
        raise Damaged(name, "it does not start as a segment does")
    fixed, stated = view[: _HEADER.size], _CRC.unpack_from(view, _HEADER.size)[0]
    if crc32c(fixed) != stated:
        raise Damaged(name, "the header's crc is wrong")
    version = _HEADER.unpack(fixed)[1]
    if version > VERSION:
        raise NewerFormat(name, version, VERSION)
    if view != encode_header(home, base, version):
        raise Damaged(name, "the header is another segment's")


def encode_footer(footer: Footer) -> bytes:
    fixed = _FOOTER.pack(*footer)
    covered = fixed + _ENDING.pack(VERSION, FOOTER_SIZE, _FOOTER_MAGIC, 0)[: -_CRC.size]
    return covered + _CRC.pack(crc32c(covered))


def decode_footer(name: str, tail: Buffer) -> Footer:
    """The footer at the end of `tail`, checked."""
    view = memoryview(tail)
    if len(view) < _ENDING.size:
        raise Damaged(name, f"its last {len(view)} bytes hold no footer")
    version, size, magic, stated = _ENDING.unpack_from(view, len(view) - _ENDING.size)
    if magic != _FOOTER_MAGIC or not _ENDING.size < size <= len(view):
        raise Damaged(name, "it does not end as a segment does")
    if crc32c(view[-size : -_CRC.size]) != stated:
        raise Damaged(name, "the footer's crc is wrong")
    if version > VERSION:
        raise NewerFormat(name, version, VERSION)
    if size != FOOTER_SIZE:
        raise Damaged(name, f"a footer of {size} bytes")
    return Footer(*_FOOTER.unpack_from(view, len(view) - size))
