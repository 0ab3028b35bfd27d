"""The records of share groups, in the internal topic `__share_group_state`.

    key      | kind i16: 0 | group string |                              the group
             | kind i16: 1 | group string | topic id uuid | number i32 |  how far it is in one partition

    value of a group, version 0
    | version i16 | epoch i32 |

    value of a partition, version 0
    | version i16 | start i64 | count i32 | run … |
    run      | records i32 | state i8 | delivery count i16 |   the first begins at start, each other where one ends

    value of a partition, version 1: with a leader of its own, which has read it
    | version i16 | state epoch i32 | leader epoch i32 | start i64, -1 before the group has begun | count i32 | run … |

Where each partition has its leader they are in `__consumer_offsets`, where the group's members are coordinated:

    key      | kind i16: 932 | key as above |

Everything is in the plain form (see `fields`). States are 0 available, 2 acknowledged, 4 archived. A record without a
value takes its key back.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, TypeAlias

from holdfast.coordinator.group.records import SHARE_KIND
from holdfast.coordinator.runtime.errors import CorruptRecord, NewerRecord
from holdfast.coordinator.runtime.fields import MalformedField, Reader, string
from holdfast.coordinator.share.partition import Image, OffsetRun, RecordState
from holdfast.types import PartitionId

_GROUP, _PARTITION = 0, 1
_VERSION = 0
_VERSION_LED = 1
_RUN = struct.Struct(">ibh")
_COUNT_MAX = 32767


class ShareGroupKey(NamedTuple):
    group_id: str


class SharePartitionKey(NamedTuple):
    group_id: str
    partition: PartitionId


ShareKey: TypeAlias = ShareGroupKey | SharePartitionKey


class StoredState(NamedTuple):
    """How far a group is in one partition, and who may say so."""

    image: Image
    state_epoch: int = 0
    leader_epoch: int = -1  # Of the last leader that has read it; -1: none has.


def among_groups(key: bytes) -> bytes:
    """A key where records of groups are, too."""
    return struct.pack(">h", SHARE_KIND) + key


def is_among_groups(key: bytes | None) -> bool:
    return key is not None and key[:2] == _PREFIX


def decode_key_among_groups(key: bytes | None) -> ShareKey | None:
    return decode_key((key or b"")[2:])


_PREFIX = among_groups(b"")


def encode_key(key: ShareKey) -> bytes:
    if isinstance(key, ShareGroupKey):
        return struct.pack(">h", _GROUP) + string(key.group_id)
    home = key.partition
    return (
        struct.pack(">h", _PARTITION) + string(key.group_id) + home.topic_id.bytes + struct.pack(">i", home.partition)
    )


def decode_key(data: bytes | None) -> ShareKey | None:
    """What a record is about; None if only another release understands it."""
    reader = Reader(data or b"")
    try:
        kind = reader.i16()
        if kind == _GROUP:
            return ShareGroupKey(reader.string())
        if kind == _PARTITION:
            return SharePartitionKey(reader.string(), PartitionId(reader.uuid(), reader.i32()))
    except (MalformedField, UnicodeDecodeError) as failure:
        raise CorruptRecord("key of a share group", str(failure)) from failure
    return None


def encode_group(epoch: int) -> bytes:
    return struct.pack(">hi", _VERSION, epoch)


def decode_group(data: bytes) -> int:
    """A group's epoch."""
    try:
        return _reader(data).i32()
    except MalformedField as failure:
        raise CorruptRecord("share group", str(failure)) from failure


def encode_state(state: StoredState) -> bytes:
    if state.leader_epoch < 0:
        return encode_image(state.image)
    return struct.pack(">hii", _VERSION_LED, state.state_epoch, state.leader_epoch) + encode_image(state.image)[2:]


def encode_image(image: Image) -> bytes:
    runs = [_RUN.pack(run.end - run.first, run.state, min(run.count, _COUNT_MAX)) for run in image.runs]
    return struct.pack(">hqi", _VERSION, image.start, len(runs)) + b"".join(runs)


def decode_image(data: bytes) -> Image:
    return decode_state(data).image


def decode_state(data: bytes) -> StoredState:
    reader = _reader(data, _VERSION_LED)
    state_epoch, leader_epoch = 0, -1
    try:
        if data[:2] == struct.pack(">h", _VERSION_LED):
            state_epoch, leader_epoch = reader.i32(), reader.i32()
        start = at = reader.i64()
        runs = []
        for _ in range(reader.count()):
            size, state, count = reader.i32(), RecordState(reader.i8()), reader.i16()
            if size < 1 or count < 0 or state is RecordState.ACQUIRED:
                raise MalformedField(f"{size} records, delivered {count} times, in state {state.name}")
            runs.append(OffsetRun(at, at + size, state, count))
            at += size
    except ValueError as failure:  # Also what is no state.
        raise CorruptRecord("share partition", str(failure)) from failure
    return StoredState(Image(start, tuple(runs)), state_epoch, leader_epoch)


def _reader(data: bytes, version_max: int = _VERSION) -> Reader:
    reader = Reader(data)
    try:
        version = reader.i16()
    except MalformedField as failure:
        raise CorruptRecord("share group", str(failure)) from failure
    if version > version_max:
        raise NewerRecord("share group", version, version_max)
    return reader
