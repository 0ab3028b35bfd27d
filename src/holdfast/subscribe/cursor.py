"""Where a subscription stands, as a value: one place per partition, and the point of the merge.

A cursor names partitions by cluster and topic id, so it can be used from anywhere, at any time, with any address of the
cluster. As text it is opaque: `Cursor.parse(str(cursor)) == cursor`. The layout is in `docs/formats/cursor.md`:

    | "HFC" | version u8 | crc32c u32 |  then the message `Cursor` of the schema, which the crc covers
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from crc32c import crc32c
from google.protobuf.message import DecodeError

from holdfast.subscribe.errors import BadCursor
from holdfast.subscribe.merge.piece import NO_EPOCH, Position
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire
from holdfast.types import ClusterPartition

_HEAD = struct.Struct(">3sBI")
_MAGIC = b"HFC"
_VERSION = 1
assert _HEAD.size == 8  # Stored by applications: changing it needs a new version.


class PartitionPosition(NamedTuple):
    """Where one partition stands, and the name that its topic had."""

    topic: str
    position: Position


class CursorPoint(NamedTuple):
    """Up to where all is delivered, in the order of the merge: what comes below is late."""

    order_time: int
    cluster_id: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where to go on."""

    places: Mapping[ClusterPartition, PartitionPosition] = field(default_factory=dict)
    point: CursorPoint | None = None

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(self.to_bytes()).decode()

    def to_bytes(self) -> bytes:
        """The cursor to be stored; equal cursors have equal bytes."""
        message = wire.Cursor()
        for key, place in sorted(self.places.items()):
            message.places.add(
                cluster_id=key.cluster_id,
                topic=place.topic,
                topic_id=key.topic_id.bytes,
                partition=key.partition,
                offset=place.position.offset,
                epoch=place.position.epoch,
                order_time=place.position.order_time,
            )
        if self.point is not None:
            message.point = self.point.order_time
            message.point_cluster_id = self.point.cluster_id
            message.point_topic = self.point.topic
            message.point_partition = self.point.partition
        body: bytes = message.SerializeToString(deterministic=True)
        return _HEAD.pack(_MAGIC, _VERSION, crc32c(body)) + body

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The cursor that a text holds."""
        try:
            return cls.from_bytes(base64.b64decode(text.strip(), altchars=b"-_", validate=True))
        except (binascii.Error, ValueError):
            raise BadCursor("the text is no cursor, or only a part of one") from None

    @classmethod
    def from_bytes(cls, data: bytes) -> Cursor:
        """The cursor that was stored."""
        message = wire.Cursor()
        try:
            magic, version, crc = _HEAD.unpack_from(data)
            if magic == _MAGIC and version > _VERSION:
                raise BadCursor(f"it has version {version}, this release knows up to {_VERSION}: use a newer one")
            if magic != _MAGIC or crc32c(data[_HEAD.size :]) != crc:
                raise BadCursor("the bytes are no cursor, or not all of one")
            message.ParseFromString(data[_HEAD.size :])
        except (struct.error, DecodeError):
            raise BadCursor("the bytes are no cursor, or not all of one") from None
        return cls._from_message(message)

    @classmethod
    def _from_message(cls, message: wire.Cursor) -> Cursor:
        places = {
            ClusterPartition(each.cluster_id, UUID(bytes=each.topic_id), each.partition): PartitionPosition(
                each.topic, Position(each.offset, each.epoch, each.order_time)
            )
            for each in message.places
        }
        point = None
        if message.HasField("point"):
            point = CursorPoint(message.point, message.point_cluster_id, message.point_topic, message.point_partition)
        return cls(places, point)

    @classmethod
    def at(cls, offsets: Mapping[ClusterPartition, tuple[str, int]]) -> Cursor:
        """A cursor made by hand, from topic names and offsets."""
        return cls(
            {key: PartitionPosition(name, Position(offset, NO_EPOCH)) for key, (name, offset) in offsets.items()}
        )
