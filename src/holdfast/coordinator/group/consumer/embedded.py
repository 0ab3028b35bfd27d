"""What members of the classic protocol say to each other, read and written on behalf of a consumer group.

subscription   | version i16 | topics array of string | user data bytes |
               version 1 and later: | owned: array of (topic string, partitions array of i32) |, and more, skipped
assignment     | version i16 | array of (topic string, partitions array of i32) | user data bytes |
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from holdfast.coordinator.group.consumer.member import Partitions
from holdfast.coordinator.group.topic_view import TopicView
from holdfast.coordinator.runtime.fields import MalformedField, Reader, string
from holdfast.types import PartitionId, TopicPartition

_OWNED_FROM = 1
_ASSIGNMENT_VERSION_MAX = 3
_NO_USER_DATA = struct.pack(">i", -1)


class EmbeddedSubscription(NamedTuple):
    """What a member of the classic protocol wants, and what it says it owns: an eager one has let go of everything."""

    version: int
    topics: frozenset[str]
    owned: frozenset[TopicPartition]


def read_subscription(metadata: bytes) -> EmbeddedSubscription | None:
    """A subscription, or None where the metadata has another form."""
    reader = Reader(metadata)
    try:
        version = reader.i16()
        topics = frozenset(reader.string() for _ in range(reader.count()))
        reader.bytes()
        owned = _read_partitions(reader) if version >= _OWNED_FROM else frozenset()
    except (MalformedField, UnicodeDecodeError):
        return None
    return EmbeddedSubscription(version, topics, owned) if version >= 0 else None


def read_assignment(assignment: bytes) -> frozenset[TopicPartition] | None:
    """The partitions of an assignment, or None where it has another form. No bytes at all are: none."""
    if not assignment:
        return frozenset()
    reader = Reader(assignment)
    try:
        return _read_partitions(reader) if reader.i16() >= 0 else None
    except (MalformedField, UnicodeDecodeError):
        return None


def _read_partitions(reader: Reader) -> frozenset[TopicPartition]:
    found: set[TopicPartition] = set()
    for _ in range(reader.count()):
        topic = reader.string()
        found.update(TopicPartition(topic, reader.i32()) for _ in range(reader.count()))
    return frozenset(found)


def write_assignment(version: int, partitions: Iterable[TopicPartition]) -> bytes:
    """An assignment in a version that its reader knows."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    parts = [struct.pack(">hi", min(version, _ASSIGNMENT_VERSION_MAX), len(by_topic))]
    for topic, numbers in by_topic.items():
        parts += [string(topic), struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
    return b"".join([*parts, _NO_USER_DATA])


def by_id(partitions: Iterable[TopicPartition], topics: TopicView) -> Partitions:
    """The same partitions by id; those of topics that are gone are left out."""
    found = ((topics.find(each.topic), each.partition) for each in partitions)
    return frozenset(PartitionId(topic.topic_id, number) for topic, number in found if topic is not None)


def by_name(partitions: Partitions, topics: TopicView) -> list[TopicPartition]:
    """The same partitions by name; those of topics that are gone are left out."""
    found = ((topics.find_id(each.topic_id), each.partition) for each in partitions)
    return [TopicPartition(topic.name, number) for topic, number in found if topic is not None]
