"""Answers to Metadata from topics that are kept as bytes: clients ask often, and topics seldom change.

An answer is | throttle, brokers, cluster id, controller | topics | cluster's operations, error, tags |. Only the outer
parts are made for each answer; a topic's bytes depend on nothing but the topic and the version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.protocol.generated.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from holdfast.protocol.schema.encoder import encode, encode_part
from holdfast.protocol.wire import encode_varint
from holdfast.types import Buffer

_FLEXIBLE_FROM = MetadataResponse.FLEXIBLE_FROM
_EPOCHS_FROM = 7


def encode_topic(version: int, topic: MetadataResponseTopic) -> bytes:
    """One topic in a version, to be kept."""
    return encode_part(topic, version, flexible=version >= _FLEXIBLE_FROM)


def encode_led(
    version: int,
    topic: MetadataResponseTopic,
    led: Sequence[tuple[int, int, int]],
    readers: Sequence[Sequence[int]] | None = None,
) -> bytes:
    """A topic without partitions, and error, leader and epoch of each of them.

    Its replicas are its leader and whoever else reads it.

    A topic may have ten thousand: one by one they would take some thirty milliseconds.
    """
    outer = encode_topic(version, topic)
    end = len(outer) - _size_behind_partitions(version)
    if version >= _FLEXIBLE_FROM:
        start, stated = end - 1, encode_varint(len(led) + 1)
    else:
        start, stated = end - 4, len(led).to_bytes(4, "big")
    return b"".join((outer[:start], stated, _partitions(version, led, readers or [()] * len(led)), outer[end:]))


def _partitions(version: int, led: Sequence[tuple[int, int, int]], readers: Sequence[Sequence[int]]) -> bytes:
    columns = np.array(led, np.int64).reshape(-1, 3).T
    if (columns[1] < 0).any() or len(set(map(len, readers))) > 1:
        return b"".join(
            _partition(version, number, *each, others)
            for number, (each, others) in enumerate(zip(led, readers, strict=True))
        )
    some = readers[0] if readers else ()
    one = _partition(version, 0, 0, 0, 0, some)
    rows = np.frombuffer(one * len(led), _row(version, len(one), 1 + len(some))).copy()
    rows["number"] = np.arange(len(led))
    rows["error"], rows["leader"], epochs = columns
    rows["replica"][:, 0] = columns[1]
    if some:
        rows["replica"][:, 1:] = readers
    rows["in_sync"] = rows["replica"]
    if version >= _EPOCHS_FROM:
        rows["epoch"] = epochs
    return rows.tobytes()


def _row(version: int, size: int, replicas: int) -> np.dtype[np.void]:
    """A partition with so many replicas."""
    count = "V1" if version >= _FLEXIBLE_FROM else "V4"
    fields: list[Any] = [("error", ">i2"), ("number", ">i4"), ("leader", ">i4")]
    fields += [("epoch", ">i4")] if version >= _EPOCHS_FROM else []
    nodes = (">i4", (replicas,))
    fields += [("replicas", count), ("replica", *nodes), ("all_in_sync", count), ("in_sync", *nodes)]
    return np.dtype([*fields, ("rest", f"V{size - np.dtype(fields).itemsize}")])


def _partition(version: int, number: int, error: int, leader: int, epoch: int, readers: Sequence[int] = ()) -> bytes:
    nodes = [leader, *readers] if leader >= 0 else []
    partition = MetadataResponsePartition(
        error_code=error,
        partition_index=number,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=nodes,
        isr_nodes=nodes,
        offline_replicas=[],
    )
    return encode_part(partition, version, flexible=version >= _FLEXIBLE_FROM)


def encode_response(version: int, answer: MetadataResponse, topics: Sequence[Buffer]) -> list[Buffer]:
    """An answer without topics of its own, and these in their place."""
    if answer.topics:
        raise ValueError("the answer has topics of its own")
    outer = encode(answer, version)
    end = len(outer) - _size_behind_topics(version)
    if version >= _FLEXIBLE_FROM:
        start, count = end - 1, encode_varint(len(topics) + 1)
    else:
        start, count = end - 4, len(topics).to_bytes(4, "big")
    return [outer[:start] + count, *topics, outer[end:]]


def _size_behind_partitions(version: int) -> int:
    return (4 if version >= 8 else 0) + (1 if version >= _FLEXIBLE_FROM else 0)  # Operations and tags.


def _size_behind_topics(version: int) -> int:
    operations = 4 if 8 <= version <= 10 else 0
    error = 2 if version >= 13 else 0
    tags = 1 if version >= _FLEXIBLE_FROM else 0
    return operations + error + tags
