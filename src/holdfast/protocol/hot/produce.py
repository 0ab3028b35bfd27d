"""Produce requests by hand, since they are hot. Batches stay views of the received bytes, and nobody looks into them.

Request v3-13, flexible from 9:
    | transactional id string? | acks i16 | timeout i32 | topics: | name string, from 13 topic id uuid | partitions: |
    | index i32 | records bytes? |

Topic ids are 16 raw bytes here: making UUID objects would take longer than all the rest.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import NamedTuple

from holdfast.protocol.errors import Malformed
from holdfast.protocol.wire import EARLY_END, FLEXIBLE, PLAIN, WireRoom, check_left, skip_tags, text, varint

FLEXIBLE_FROM = 9
TOPIC_IDS_FROM = 13

ITEMS_MAX = 20_000  # Topics and partitions of one request.


class ProducePartition(NamedTuple):
    """What is to be appended to one partition."""

    partition: int
    records: memoryview | None  # Of the received bytes; writable if they are.


class ProduceTopic(NamedTuple):
    """A topic, by name or, from version 13 on, by id."""

    name: str | None
    topic_id: bytes | None
    partitions: list[ProducePartition]


class ProduceRequest(NamedTuple):
    """Batches for many partitions, acknowledged together."""

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[ProduceTopic]


_new_request = partial(tuple.__new__, ProduceRequest)
_new_topic = partial(tuple.__new__, ProduceTopic)
_new_partition = partial(tuple.__new__, ProducePartition)

_acks_and_timeout = struct.Struct(">hi").unpack_from
_topic_id = struct.Struct("16s").unpack_from
_partition_and_compact_size = struct.Struct(">iBBB").unpack_from
_partition_and_size = struct.Struct(">ii").unpack_from
_one_plain = struct.Struct(">hhiih").unpack_from
_one_plain_partition = struct.Struct(">iii").unpack_from
_one_flexible = struct.Struct(">BhiBB").unpack_from
_one_topic_id = struct.Struct(">BhiB16s").unpack_from
_one_flexible_partition = struct.Struct(">BiBBB").unpack_from
_three_tags = struct.Struct(">BH").unpack_from


def decode_request(version: int, body: memoryview) -> ProduceRequest:
    """Read a request of a version from 3 to 13."""
    try:
        return _decode_one(version, body) or _decode_many(version, body)
    except (IndexError, struct.error):
        raise Malformed(EARLY_END, len(body), f"Produce v{version} request") from None
    except Malformed as failure:
        raise Malformed(failure.why, failure.position, f"Produce v{version} request") from None


def _decode_one(version: int, data: memoryview) -> ProduceRequest | None:
    """One topic with one partition and nothing unusual; anything else, also if it is wrong, is left to _decode_many."""
    try:
        if version < FLEXIBLE_FROM:
            return _decode_one_plain(data)
        return _decode_one_flexible(data) if version < TOPIC_IDS_FROM else _decode_one_topic_id(data)
    except (IndexError, struct.error):
        return None


def _decode_one_plain(data: memoryview) -> ProduceRequest | None:
    null, acks, timeout_ms, topics, name_size = _one_plain(data, 0)
    if null != -1 or topics != 1 or name_size < 0:
        return None
    name_end = 14 + name_size
    partitions, partition, size = _one_plain_partition(data, name_end)
    start = name_end + 12
    if partitions != 1 or size < 0 or start + size != len(data):
        return None
    part = _new_partition((partition, data[start:]))
    topic = _new_topic((text(data, 14, name_end), None, [part]))
    return _new_request((None, acks, timeout_ms, [topic]))


def _decode_one_flexible(data: memoryview) -> ProduceRequest | None:
    null, acks, timeout_ms, topics, name_size = _one_flexible(data, 0)
    if null != 0 or topics != 2 or not 0 < name_size < 0x80:
        return None
    part = _decode_one_partition(data, 8 + name_size)
    if part is None:
        return None
    topic = _new_topic((text(data, 9, 8 + name_size), None, [part]))
    return _new_request((None, acks, timeout_ms, [topic]))


def _decode_one_topic_id(data: memoryview) -> ProduceRequest | None:
    null, acks, timeout_ms, topics, topic_id = _one_topic_id(data, 0)
    if null != 0 or topics != 2:
        return None
    part = _decode_one_partition(data, 24)
    if part is None:
        return None
    return _new_request((None, acks, timeout_ms, [_new_topic((None, topic_id, [part]))]))


def _decode_one_partition(data: memoryview, position: int) -> ProducePartition | None:
    partitions, partition, first, second, third = _one_flexible_partition(data, position)
    if partitions != 2:
        return None
    size, start = _records_size(data, position + 5, first, second, third)
    end = start + size - 1
    if size == 0 or end + 3 != len(data) or _three_tags(data, end) != (0, 0):
        return None
    part: ProducePartition = _new_partition((partition, data[start:end]))
    return part


def _records_size(data: memoryview, position: int, first: int, second: int, third: int) -> tuple[int, int]:
    """A varint whose first bytes are known already. Three tags follow the records, so there always are as many."""
    if first < 0x80:
        return first, position + 1
    if second < 0x80:
        return first - 0x80 | second << 7, position + 2
    if third < 0x80:
        return first - 0x80 | (second - 0x80) << 7 | third << 14, position + 3
    return varint(data, position)


def _decode_many(version: int, data: memoryview) -> ProduceRequest:
    form = FLEXIBLE if version >= FLEXIBLE_FROM else PLAIN
    transactional_id, position = form.string(data, 0)
    acks, timeout_ms = _acks_and_timeout(data, position)
    room = WireRoom(ITEMS_MAX)
    count, position = form.required_array(data, position + 6, room)
    decode_partitions = _decode_flexible_partitions if form is FLEXIBLE else _decode_plain_partitions
    topics = []
    for _ in range(count):
        name, topic_id = None, None
        if version >= TOPIC_IDS_FROM:
            (topic_id,) = _topic_id(data, position)
            position += 16
        else:
            name, position = form.required_string(data, position)
        found, position = form.required_array(data, position, room)
        partitions, position = decode_partitions(data, position, found)
        topics.append(ProduceTopic(name, topic_id, partitions))
        position = form.skip_tags(data, position)
    form.skip_tags(data, position)
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


def _decode_plain_partitions(data: memoryview, position: int, count: int) -> tuple[list[ProducePartition], int]:
    partitions = []
    for _ in range(count):
        partition, size = _partition_and_size(data, position)
        start = position + 8
        position = start + size
        if position > len(data):
            check_left(data, start, size)
        if size < 0:
            partitions.append(ProducePartition(partition, None))
            position = start
        else:
            partitions.append(_new_partition((partition, data[start:position])))
    return partitions, position


def _decode_flexible_partitions(data: memoryview, position: int, count: int) -> tuple[list[ProducePartition], int]:
    partitions = []
    for _ in range(count):
        partition, first, second, third = _partition_and_compact_size(data, position)
        if second < 0x80 <= first:  # From 128 bytes to 16 KB, which most are.
            size, start = first - 0x80 | second << 7, position + 6
        else:
            size, start = _records_size(data, position + 4, first, second, third)
        if size == 0:
            partitions.append(ProducePartition(partition, None))
            position = skip_tags(data, start)
        else:
            end = start + size - 1
            position = (
                end + 1 if data[end] == 0 else skip_tags(data, end)
            )  # What lies behind the end shows that it is real.
            partitions.append(_new_partition((partition, data[start:end])))
    return partitions, position
