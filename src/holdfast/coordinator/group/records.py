"""The records of the internal topic `__consumer_offsets`, in Kafka's own formats, so that Kafka's tools can read them.

    key of an offset   | kind i16: 0 or 1 | group string | topic string | partition i32 |
    key of a group     | kind i16: 2 | group string |
    keys of a consumer group: see `consumer_group_records`
    keys of a share group, where each partition has its leader: kind 932, see `coordinator.share.records`

    value of an offset, version 3
    | version i16 | offset i64 | leader epoch i32 | metadata string | committed at, ms i64 |
    value of a group, version 3
    | version i16 | protocol type string | generation i32 | protocol string | leader string | since, ms i64 |
    | member count i32 | id string | instance id string | client id string | client host string |
    | rebalance timeout, ms i32 | session timeout, ms i32 | subscription bytes | assignment bytes | …

A record without a value takes back what its key names. Versions 0 to 4 of both values are read; version 1 of an offset
carries its time of expiry behind the rest, and is written where there is one. Version 4 is flexible: see `fields`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from holdfast.coordinator.group.answers import CommittedOffset
from holdfast.coordinator.group.classic.image import GroupImage, MemberImage
from holdfast.coordinator.group.consumer.image import ConsumerImage
from holdfast.coordinator.group.consumer.records import RecordKind
from holdfast.coordinator.runtime.errors import CorruptRecord, NewerRecord
from holdfast.coordinator.runtime.fields import MalformedField, Reader, bytes_field, string
from holdfast.record.records import Record
from holdfast.types import TopicPartition

T = TypeVar("T")

_OFFSET_KINDS = (0, 1)
_GROUP_KIND = 2
SHARE_KIND = 932  # Of share groups, where each partition has its leader: see `coordinator.share.records`.
_VERSION = 3
_VERSION_EXPIRING = 1
_VERSION_FLEXIBLE = 4
_VERSION_MAX = 4


class OffsetKey(NamedTuple):
    """Names a group's offset of one partition."""

    group_id: str
    partition: TopicPartition


class GroupKey(NamedTuple):
    """Names a group."""

    group_id: str


class ConsumerKey(NamedTuple):
    """Names a part of a consumer group: the group itself, or a member or pattern of it."""

    group_id: str
    kind: RecordKind
    name: str


class UnknownKey(NamedTuple):
    """Names something that only another release, or another broker, understands."""

    kind: int


Key = OffsetKey | GroupKey | ConsumerKey | UnknownKey


def offset_record(group_id: str, partition: TopicPartition, value: CommittedOffset | None, now_ms: int) -> Record:
    """The record of a committed offset, or of one that is taken back."""
    key = struct.pack(">h", 1) + string(group_id) + string(partition.topic) + struct.pack(">i", partition.partition)
    return Record(key, None if value is None else _encode_offset(value), now_ms)


def group_key(group_id: str) -> bytes:
    """The key of a group's record."""
    return struct.pack(">h", _GROUP_KIND) + string(group_id)


def decode_key(key: bytes | None) -> Key:
    """What a record is about."""
    return _read("key", lambda: _decode_key(Reader(key or b"")))


def decode_offset(value: bytes) -> CommittedOffset:
    """The value of an offset's record."""
    return _read("committed offset", lambda: _decode_offset(*_versioned("committed offset", value)))


def decode_group(value: bytes) -> GroupImage:
    """The value of a group's record."""
    return _read("group", lambda: _decode_group(*_versioned("group", value)))


def apply_consumer_record(image: ConsumerImage, key: ConsumerKey, value: bytes | None) -> None:
    """Let an image of a consumer group have one record more."""
    what = f"consumer group's {key.kind.name.lower()}"

    def apply() -> None:
        if value is None or key.kind is RecordKind.PARTITIONS:
            image.apply(key.kind, key.name, None)
            return
        reader, version = _versioned(what, value)
        if version > 0:
            raise NewerRecord(what, version, 0)
        reader.flexible = True
        image.apply(key.kind, key.name, reader)
        _check_end(reader)

    _read(what, apply)


def _read(kind: str, decode: Callable[[], T]) -> T:
    try:
        return decode()
    except (MalformedField, UnicodeDecodeError) as failure:
        raise CorruptRecord(kind, str(failure)) from failure


def _versioned(kind: str, value: bytes) -> tuple[Reader, int]:
    reader = Reader(value)
    version = reader.i16()
    if version > _VERSION_MAX:
        raise NewerRecord(kind, version, _VERSION_MAX)
    if version < 0:
        raise MalformedField(f"version {version}")
    reader.flexible = version >= _VERSION_FLEXIBLE
    return reader, version


def _decode_key(reader: Reader) -> Key:
    kind = reader.i16()
    key: Key
    if kind in _OFFSET_KINDS:
        key = OffsetKey(reader.string(), TopicPartition(reader.string(), reader.i32()))
    elif kind == _GROUP_KIND:
        key = GroupKey(reader.string())
    elif kind in list(RecordKind):
        group_id = reader.string()
        key = ConsumerKey(group_id, RecordKind(kind), reader.string() if RecordKind(kind).is_named else "")
    else:
        return UnknownKey(kind)
    _check_end(reader)
    return key


def _check_end(reader: Reader) -> None:
    if reader.left:
        raise MalformedField(f"{reader.left} bytes are left")


def _encode_offset(value: CommittedOffset) -> bytes:
    metadata = string(value.metadata)
    if value.expires_at_ms >= 0:
        head = struct.pack(">hq", _VERSION_EXPIRING, value.offset)
        return head + metadata + struct.pack(">qq", value.committed_at_ms, value.expires_at_ms)
    head = struct.pack(">hqi", _VERSION, value.offset, value.leader_epoch)
    return head + metadata + struct.pack(">q", value.committed_at_ms)


def _decode_offset(reader: Reader, version: int) -> CommittedOffset:
    offset = reader.i64()
    leader_epoch = reader.i32() if version >= 3 else -1
    metadata = reader.string()
    committed_at_ms = reader.i64()
    expires_at_ms = reader.i64() if version == _VERSION_EXPIRING else -1
    reader.end_struct()
    _check_end(reader)
    return CommittedOffset(offset, leader_epoch, metadata, committed_at_ms, expires_at_ms)


def encode_group(image: GroupImage) -> bytes:
    """The value of a group's record."""
    parts = [
        struct.pack(">h", _VERSION),
        string(image.protocol_type),
        struct.pack(">i", image.generation),
        string(image.protocol_name),
        string(image.leader_id),
        struct.pack(">qi", image.since_ms, len(image.members)),
        *(_encode_member(member) for member in image.members),
    ]
    return b"".join(parts)


def _encode_member(member: MemberImage) -> bytes:
    parts = [
        string(member.member_id),
        string(member.instance_id),
        string(member.client_id),
        string(member.client_host),
        struct.pack(">ii", member.rebalance_timeout_ms, member.session_timeout_ms),
        bytes_field(member.subscription),
        bytes_field(member.assignment),
    ]
    return b"".join(parts)


def _decode_group(reader: Reader, version: int) -> GroupImage:
    protocol_type = reader.string()
    generation = reader.i32()
    protocol_name = reader.nullable_string()
    leader_id = reader.nullable_string()
    since_ms = reader.i64() if version >= 2 else -1
    members = tuple(_decode_member(reader, version) for _ in range(reader.count()))
    reader.end_struct()
    _check_end(reader)
    return GroupImage(protocol_type, generation, protocol_name, leader_id, since_ms, members)


def _decode_member(reader: Reader, version: int) -> MemberImage:
    member_id = reader.string()
    instance_id = reader.nullable_string() if version >= 3 else None
    client_id, client_host = reader.string(), reader.string()
    rebalance_timeout_ms = reader.i32() if version >= 1 else -1
    session_timeout_ms = reader.i32()
    subscription, assignment = reader.bytes(), reader.bytes()
    reader.end_struct()
    return MemberImage(
        member_id,
        instance_id,
        client_id,
        client_host,
        rebalance_timeout_ms if version >= 1 else session_timeout_ms,
        session_timeout_ms,
        subscription,
        assignment,
    )
