"""What Holdfast writes into the write-ahead log.

| version u8 | kind u8 | partition u32 | topic id, 16 bytes | content |      little endian

1 BATCHES       content: one or more record batches of the partition, stamped with their offsets
2 DELETE_TOPIC  no content, partition 0: the topic is gone, for ever
3 DELETE_RECORDS  content: an offset u64; somebody has deleted the partition's records below it
4 KEPT          only in rounds, partition 0 of topic 0: what `log.metadata` keeps besides entries
"""

from __future__ import annotations

import struct
from typing import NamedTuple
from uuid import UUID

from holdfast.errors import Corrupt, Rejected
from holdfast.types import Buffer, PartitionId

VERSION = 1
BATCHES = 1
DELETE_TOPIC = 2
DELETE_RECORDS = 3
KEPT = 4

_FIXED = struct.Struct("<BBI16s")
assert _FIXED.size == 22  # On disk: changing it needs a new version.
CONTENT_START = _FIXED.size
_OFFSET = struct.Struct("<Q")


class WalEntry(NamedTuple):
    """One decoded entry."""

    kind: int
    home: PartitionId
    content: memoryview


def encode_prefix(kind: int, home: PartitionId) -> bytes:
    """What stands before the content."""
    return _FIXED.pack(VERSION, kind, home.partition, home.topic_id.bytes)


def decode(payload: Buffer) -> WalEntry:
    view = memoryview(payload)
    if len(view) < _FIXED.size:
        raise Corrupt(f"an entry of {len(view)} bytes is in the write-ahead log where at least {_FIXED.size} belong")
    version, kind, partition, topic_id = _FIXED.unpack_from(view)
    if version > VERSION:
        raise Rejected(f"the write-ahead log has entries of version {version}, this release knows {VERSION}: upgrade")
    return WalEntry(kind, PartitionId(UUID(bytes=topic_id), partition), view[_FIXED.size :])


def encode_offset(offset: int) -> bytes:
    """The content of DELETE_RECORDS."""
    return _OFFSET.pack(offset)


def decode_offset(content: memoryview) -> int:
    if len(content) != _OFFSET.size:
        raise Corrupt(f"an entry that deletes records has {len(content)} bytes where {_OFFSET.size} belong")
    return int(_OFFSET.unpack(content)[0])
