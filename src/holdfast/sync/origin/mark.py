"""The origin mark: one header that says where a record comes from, hop by hop. Layout, all numbers big-endian:

    header key    holdfast.origin
    header value  | version u8 | hop, the newest first | hop | … |
    hop           | size u8 | cluster id, so many bytes | topic id 16 bytes | partition i32 | offset i64 |

The last hop is where the record was produced; the first is where it was copied from.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple
from uuid import UUID

from holdfast.errors import Rejected
from holdfast.types import ClusterPartition

MARK_KEY: Final = "holdfast.origin"
VERSION: Final = 1
PATH_SIZE_MAX: Final = 1024  # Bytes of earlier hops that are kept: more than ten clusters have.
CLUSTER_SIZE_MAX: Final = 255

_PLACE = struct.Struct(">16siq")
assert _PLACE.size == 28  # In records, for ever: changing it needs a new version.


class Hop(NamedTuple):
    """One place where a record was, or is."""

    cluster_id: str
    topic_id: UUID
    partition: int
    offset: int


class BadMark(Rejected):
    """The bytes are no origin mark, or one of a later release."""

    def __init__(self, value: bytes) -> None:
        super().__init__(f"{value[:64].hex()} is no origin mark that this release knows")
        self.value = value


def beginning(home: ClusterPartition) -> bytes:
    """How the marks of all records begin that were copied from this partition; the offset follows."""
    return bytes([VERSION]) + hop_beginning(home)


def hop_beginning(home: ClusterPartition) -> bytes:
    """The beginning of a hop, which all records of the partition have in common."""
    cluster = home.cluster_id.encode()
    return bytes([len(cluster)]) + cluster + home.topic_id.bytes + struct.pack(">i", home.partition)


def read_mark(value: bytes) -> list[Hop]:
    """The hops of a mark, the newest first: for looking at a few. Many are read by `mark_loops`."""
    if value[:1] != bytes([VERSION]):
        raise BadMark(value)
    position = 1
    hops = []
    while position < len(value):
        place = position + 1 + value[position]
        try:
            cluster_id = value[position + 1 : place].decode()
            topic_id, partition, offset = _PLACE.unpack_from(value, place)
        except (UnicodeDecodeError, struct.error):
            raise BadMark(value) from None
        hops.append(Hop(cluster_id, UUID(bytes=topic_id), partition, offset))
        position = place + _PLACE.size
    return hops
