"""The records of consumer groups in `__consumer_offsets`, in Kafka's own formats.

key     | kind i16 | group string |                    of EPOCH and TARGET_EPOCH
        | kind i16 | group string | member string |    of MEMBER, TARGET and CURRENT
        | kind i16 | group string | pattern string |   of PATTERN

values, each | version i16: 0 | … | in the flexible form (see `fields`)
MEMBER         | instance id | rack id | client id | client host | topics | pattern | rebalance timeout, ms i32 |
               | assignor | tag 0: session timeout, ms i32 and (protocol, metadata)s of a classic member |
EPOCH          | epoch i32 | tag 0: hash of the topics i64 |
TARGET_EPOCH   | epoch i32 |
TARGET         | partitions |
CURRENT        | epoch i32 | epoch before i32 | state i8 | assigned partitions | partitions being revoked |
PATTERN        | topics | version of the topics i64 | at, ms i64 |

partitions = array of | topic id uuid | array of i32 |
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from holdfast.coordinator.group.consumer.member import ClassicSide, ConsumerMember, MemberState, Partitions
from holdfast.coordinator.group.consumer.patterns import Matched
from holdfast.coordinator.group.requests import Protocol
from holdfast.coordinator.runtime.fields import (
    MalformedField,
    Reader,
    compact_bytes,
    compact_count,
    compact_string,
    string,
    tagged_fields,
)
from holdfast.types import PartitionId

_VERSION = struct.pack(">h", 0)
_END = tagged_fields({})


class RecordKind(enum.IntEnum):
    """What a record is about; the numbers are Kafka's."""

    EPOCH = 3
    PARTITIONS = 4  # Only of older brokers: what EPOCH's hash stands for.
    MEMBER = 5
    TARGET_EPOCH = 6
    TARGET = 7
    CURRENT = 8
    PATTERN = 16

    @property
    def is_named(self) -> bool:
        return self in (RecordKind.MEMBER, RecordKind.TARGET, RecordKind.CURRENT, RecordKind.PATTERN)


class Epoch(NamedTuple):
    """How often the group has changed, and what the topics were like at the last change."""

    epoch: int
    topics_hash: int = 0


class MemberProgress(NamedTuple):
    """How far a member has come."""

    epoch: int
    previous_epoch: int
    state: MemberState
    assigned: Partitions
    revoking: Partitions


def encode_key(group_id: str, kind: RecordKind, name: str = "") -> bytes:
    """`name` is the member's id, or the pattern."""
    return struct.pack(">h", kind) + string(group_id) + (string(name) if kind.is_named else b"")


def encode_epoch(value: Epoch) -> bytes:
    tags = {0: struct.pack(">q", value.topics_hash)} if value.topics_hash else {}
    return _VERSION + struct.pack(">i", value.epoch) + tagged_fields(tags)


def decode_epoch(reader: Reader) -> Epoch:
    epoch = reader.i32()
    tags = reader.tagged()
    return Epoch(epoch, Reader(tags[0]).i64() if 0 in tags else 0)


def encode_target_epoch(epoch: int) -> bytes:
    return _VERSION + struct.pack(">i", epoch) + _END


def decode_target_epoch(reader: Reader) -> int:
    epoch = reader.i32()
    reader.end_struct()
    return epoch


def encode_target(partitions: Partitions) -> bytes:
    return _VERSION + _partitions(partitions) + _END


def decode_target(reader: Reader) -> Partitions:
    found = _read_partitions(reader)
    reader.end_struct()
    return found


def encode_progress(member: ConsumerMember) -> bytes:
    head = struct.pack(">iib", member.epoch, member.previous_epoch, member.state)
    return _VERSION + head + _partitions(member.assigned) + _partitions(member.revoking) + _END


def decode_progress(reader: Reader) -> MemberProgress:
    epoch, previous, state = reader.i32(), reader.i32(), reader.i8()
    if state not in list(MemberState):
        raise MalformedField(f"state {state} of a member")
    assigned, revoking = _read_partitions(reader), _read_partitions(reader)
    reader.end_struct()
    return MemberProgress(epoch, previous, MemberState(state), assigned, revoking)


def encode_pattern(matched: Matched) -> bytes:
    return _VERSION + _strings(matched.topics) + struct.pack(">qq", matched.version, matched.at_ms) + _END


def decode_pattern(reader: Reader) -> Matched:
    topics = _read_strings(reader)
    matched = Matched(topics, reader.i64(), reader.i64())
    reader.end_struct()
    return matched


def encode_member(member: ConsumerMember) -> bytes:
    texts = [member.instance_id, member.rack_id, member.client_id, member.client_host]
    parts = [
        _VERSION,
        *(compact_string(text) for text in texts),
        _strings(member.topics),
        compact_string(member.regex),
        struct.pack(">i", member.rebalance_timeout_ms),
        compact_string(member.assignor),
        tagged_fields({} if member.classic is None else {0: b"\1" + _classic(member.classic)}),
    ]
    return b"".join(parts)


def _classic(classic: ClassicSide) -> bytes:
    """A struct that may be null: behind a byte that says it is not."""
    parts = [struct.pack(">i", classic.session_timeout_ms), compact_count(len(classic.protocols))]
    parts += [compact_string(each.name) + compact_bytes(each.metadata) + _END for each in classic.protocols]
    return b"".join([*parts, _END])


def decode_member(member_id: str, reader: Reader) -> ConsumerMember:
    instance_id, rack_id = reader.nullable_string(), reader.nullable_string()
    client_id, client_host = reader.string(), reader.string()
    topics, regex = _read_strings(reader), reader.nullable_string()
    timeout_ms, assignor = reader.i32(), reader.nullable_string()
    tags = reader.tagged()
    return ConsumerMember(
        id=member_id,
        instance_id=instance_id,
        rack_id=rack_id,
        client_id=client_id,
        client_host=client_host,
        topics=topics,
        regex=regex or "",
        rebalance_timeout_ms=timeout_ms,
        assignor=assignor,
        classic=_read_classic(Reader(tags[0], flexible=True)) if 0 in tags else None,
    )


def _read_classic(reader: Reader) -> ClassicSide | None:
    if reader.i8() < 0:
        return None
    timeout_ms = reader.i32()
    protocols = []
    for _ in range(reader.count()):
        protocols.append(Protocol(reader.string(), reader.bytes()))
        reader.end_struct()
    return ClassicSide(timeout_ms, tuple(protocols))


def _strings(texts: Iterable[str]) -> bytes:
    encoded = [compact_string(text) for text in sorted(texts)]
    return compact_count(len(encoded)) + b"".join(encoded)


def _read_strings(reader: Reader) -> frozenset[str]:
    return frozenset(reader.string() for _ in range(reader.count()))


def _partitions(partitions: Partitions) -> bytes:
    by_topic: dict[UUID, list[int]] = {}
    for topic_id, number in partitions:
        by_topic.setdefault(topic_id, []).append(number)
    parts = [compact_count(len(by_topic))]
    for topic_id in sorted(by_topic):
        numbers = sorted(by_topic[topic_id])
        parts += [topic_id.bytes, compact_count(len(numbers)), struct.pack(f">{len(numbers)}i", *numbers), _END]
    return b"".join(parts)


def _read_partitions(reader: Reader) -> Partitions:
    found: set[PartitionId] = set()
    for _ in range(reader.count()):
        topic_id = reader.uuid()
        found.update(PartitionId(topic_id, reader.i32()) for _ in range(reader.count()))
        reader.end_struct()
    return frozenset(found)
