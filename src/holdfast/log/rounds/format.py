"""A round: what one life makes durable in one object, entries of many partitions. A seal: the object that ends them.

    | header | index: a row for each partition or deletion | contents |      little endian

A round is there whole or not at all, so the order of entries of different partitions is not kept. A seal has no rows,
and says in JSON who put it and why. What a row's content is says `log.entry`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from crc32c import crc32c

from holdfast.io.store_errors import Damaged, NewerFormat
from holdfast.types import Buffer, PartitionId

MAGIC = b"HFROUND\0"
VERSION = 1
ROUND = 1
SEAL = 2

# magic, version, kind, broker, life, number, needed from, nonce, rows, size, crc of index, zero; then crc of all these.
_HEADER = struct.Struct("<8sHHIQQQ16sIQII")
_CRC = struct.Struct("<I")
HEADER_SIZE = _HEADER.size + _CRC.size
assert HEADER_SIZE == 80  # In the store: changing it needs a new version.
# topic id, partition, kind, first offset, end offset, position, size, crc of content.
_ROW = struct.Struct("<16sIIQQQII")
ROW_SIZE = _ROW.size
assert ROW_SIZE == 56


class RoundHeader(NamedTuple):
    """Whose round it is."""

    kind: int
    broker: int
    life: int
    number: int
    needed_from: int  # The lowest number that is still needed; every number below existed.
    nonce: str  # 32 hex digits: tells our own object from another's.


class Row(NamedTuple):
    """What a round has of one partition."""

    kind: int  # Of `log.entry`.
    home: PartitionId
    first: int  # The offsets [first, end) of batches; 0 otherwise.
    end: int
    pieces: Sequence[Buffer]  # The content; of a decoded row one piece.


@dataclass(frozen=True, slots=True)
class Round:
    """One decoded object: a round, or a seal."""

    header: RoundHeader
    rows: tuple[Row, ...]
    why: Mapping[str, Any]  # Of a seal.

    @property
    def is_seal(self) -> bool:
        return self.header.kind == SEAL


def encode_round(header: RoundHeader, rows: Sequence[Row]) -> list[Buffer]:
    """The pieces of a round; contents are not copied."""
    index, position = bytearray(), 0
    contents: list[Buffer] = []
    for kind, (topic_id, partition), first, end, pieces in rows:
        size = crc = 0
        for piece in pieces:
            size += len(piece)
            crc = crc32c(piece, crc)
        index += _ROW.pack(topic_id.bytes, partition, kind, first, end, position, size, crc)
        position += size
        contents += pieces
    return [_header(header, len(rows), position, index), bytes(index), *contents]


def encode_seal(header: RoundHeader, why: Mapping[str, Any]) -> list[Buffer]:
    said = json.dumps(why).encode()
    return [_header(header, 0, len(said), said), said]


def _header(header: RoundHeader, rows: int, size: int, covered: Buffer) -> bytes:
    kind, broker, life, number, needed_from, nonce = header
    drawn = bytes.fromhex(nonce)
    fixed = _HEADER.pack(MAGIC, VERSION, kind, broker, life, number, needed_from, drawn, rows, size, crc32c(covered), 0)
    return fixed + _CRC.pack(crc32c(fixed))


def decode_header(name: str, data: Buffer) -> RoundHeader:
    """Of an object, or of its first 80 bytes."""
    return _fixed(name, data)[0]


def decode_round(name: str, data: Buffer) -> Round:
    """All of an object, held against its crcs."""
    header, rows, size, crc = _fixed(name, data)
    view = memoryview(data)
    if header.kind == SEAL:
        said = view[HEADER_SIZE:]
        if len(said) != size or crc32c(said) != crc:
            raise Damaged(name, "what it says is not what was written")
        return Round(header, (), json.loads(bytes(said)))
    start = HEADER_SIZE + rows * ROW_SIZE
    index, contents = view[HEADER_SIZE:start], view[start:]
    if len(index) != rows * ROW_SIZE or crc32c(index) != crc:
        raise Damaged(name, "its index is not what was written")
    if len(contents) != size:
        raise Damaged(name, f"it has {len(contents)} bytes of contents, not {size}")
    return Round(header, tuple(_rows(name, index, contents)), {})


def _fixed(name: str, data: Buffer) -> tuple[RoundHeader, int, int, int]:
    if len(data) < HEADER_SIZE:
        raise Damaged(name, f"it has {len(data)} bytes, and its header alone has {HEADER_SIZE}")
    head = bytes(data[:HEADER_SIZE])
    magic, version, kind, broker, life, number, needed, nonce, rows, size, crc, _ = _HEADER.unpack_from(head)
    if magic != MAGIC:
        raise Damaged(name, f"it does not begin with {MAGIC!r}")
    if _CRC.unpack_from(head, _HEADER.size)[0] != crc32c(head[: _HEADER.size]):  # There in every version.
        raise Damaged(name, "its header is not what was written")
    if version > VERSION:
        raise NewerFormat(name, version, VERSION)
    if kind not in (ROUND, SEAL):
        raise Damaged(name, f"it is neither a round nor a seal, but of kind {kind}")
    return RoundHeader(kind, broker, life, number, needed, nonce.hex()), rows, size, crc


def _rows(name: str, index: memoryview, contents: memoryview) -> Iterator[Row]:
    for topic_id, partition, kind, first, end, position, size, crc in _ROW.iter_unpack(index):
        content = contents[position : position + size]
        home = PartitionId(UUID(bytes=topic_id), partition)
        if len(content) != size or crc32c(content) != crc:
            raise Damaged(name, f"what it has of {home.path} is not what was written")
        yield Row(kind, home, first, end, (content,))
