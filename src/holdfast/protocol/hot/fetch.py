"""Fetch requests by hand, since they are hot and can name many partitions.

Request v4-18, flexible from 12:
    | until 14 replica id i32 | max wait i32 | min bytes i32 | max bytes i32 | isolation i8 |
    | from 7 session id i32 | from 7 session epoch i32 |
    | topics: | name string, from 13 topic id uuid | partitions: | index i32 | from 9 current leader epoch i32 |
    |   fetch offset i64 | from 12 last fetched epoch i32 | from 5 log start offset i64 | max bytes i32 |
    | from 7 forgotten topics: | name or topic id | partitions: i32 | | from 11 rack id string |
    | tags: from 12 0 = cluster id string?; from 15 1 = replica id i32, replica epoch i64 |

A partition's own tags (from 17 a directory's id, from 18 a replica's high watermark) come from replicas only. There are
no replicas here, so they are passed over; for the same reason nobody asks for the cluster id.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

from holdfast.protocol.errors import Malformed
from holdfast.protocol.wire import EARLY_END, FLEXIBLE, PLAIN, Form, WireRoom, check_left, skip_tags, tag, varint

FLEXIBLE_FROM = 12
TOPIC_IDS_FROM = 13
_REPLICA_STATE_FROM = 15
_REPLICA_STATE = 1  # Its tag.
_MANY = 4  # Partitions, from where on it is faster to read them together.


class FetchPartition(NamedTuple):
    """Where to read one partition, and how much. Epochs and the log start are -1 where they are not given."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    max_bytes: int


class FetchTopic(NamedTuple):
    """A topic, by name or, from version 13 on, by id (16 bytes)."""

    name: str | None
    topic_id: bytes | None
    partitions: list[FetchPartition]


class ForgottenTopic(NamedTuple):
    """Partitions that leave the session."""

    name: str | None
    topic_id: bytes | None
    partitions: list[int]


class FetchRequest(NamedTuple):
    """What to read, and how long to wait for it."""

    replica_id: int
    replica_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]
    rack_id: str


TopicsReader: TypeAlias = Callable[[memoryview, int, Form, WireRoom], int]  # From a position to the one behind them.

_new_partition: Callable[[tuple[int, ...]], FetchPartition] = partial(tuple.__new__, FetchPartition)
_new_topic: Callable[[tuple[object, ...]], FetchTopic] = partial(tuple.__new__, FetchTopic)
_new_request: Callable[[tuple[object, ...]], FetchRequest] = partial(tuple.__new__, FetchRequest)
_until_4 = struct.Struct(">iqi")
_until_8 = struct.Struct(">iqqi")
_until_11 = struct.Struct(">iiqqi")
_from_12 = struct.Struct(">iiqiqix")  # The last byte is the count of tags, which is looked at beforehand.
_from_12_untagged = struct.Struct(">iiqiqi")
_head_until_6 = struct.Struct(">iiiib").unpack_from
_head_from_7 = struct.Struct(">iiiibii").unpack_from
_head_from_15 = struct.Struct(">iiibii").unpack_from
_topic_id = struct.Struct("16s").unpack_from
_replica_state = struct.Struct(">iq")


def decode_request(version: int, body: memoryview) -> FetchRequest:
    """Read a request of a version from 4 to 18."""
    try:
        return _decode(version, body, FLEXIBLE if version >= FLEXIBLE_FROM else PLAIN)
    except (IndexError, struct.error):
        raise Malformed(EARLY_END, len(body), f"Fetch v{version} request") from None
    except Malformed as failure:
        raise Malformed(failure.why, failure.position, f"Fetch v{version} request") from None


def decode_with(version: int, body: memoryview, topics: TopicsReader) -> FetchRequest:
    """A request without its topics, over which another one goes."""
    return _decode(version, body, FLEXIBLE if version >= FLEXIBLE_FROM else PLAIN, topics)


def _decode(version: int, data: memoryview, form: Form, read_topics: TopicsReader | None = None) -> FetchRequest:
    room = WireRoom()
    replica_id, replica_epoch, session_id, session_epoch = -1, -1, 0, -1
    if version >= _REPLICA_STATE_FROM:
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _head_from_15(data, 0)
        position = 21
    elif version >= 7:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _head_from_7(
            data, 0
        )
        position = 25
    else:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level = _head_until_6(data, 0)
        position = 17
    topics: list[FetchTopic] = []
    if read_topics is None:
        topics, position = _decode_topics(version, data, position, form, room)
    else:
        position = read_topics(data, position, form, room)
    forgotten: list[ForgottenTopic] = []
    if version >= 7:
        count, position = form.required_array(data, position, room)
        if count:
            forgotten, position = _decode_forgotten(version, data, position, form, room, count)
    rack_id = ""
    if version >= 11:
        rack_id, position = form.required_string(data, position)
    if version >= _REPLICA_STATE_FROM:
        replica_id, replica_epoch = _decode_tags(data, position)
    else:
        form.skip_tags(data, position)
    head = (replica_id, replica_epoch, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch)
    return _new_request((*head, topics, forgotten, rack_id))


def _decode_topics(
    version: int, data: memoryview, position: int, form: Form, room: WireRoom
) -> tuple[list[FetchTopic], int]:
    required_array, skip_tags = form.required_array, form.skip_tags
    count, position = required_array(data, position, room)
    topics = []
    for _ in range(count):
        name, topic_id = None, None
        if version >= TOPIC_IDS_FROM:
            (topic_id,) = _topic_id(data, position)
            position += 16
        else:
            name, position = form.required_string(data, position)
        found, position = required_array(data, position, room)
        partitions, position = _decode_partitions(version, data, position, found)
        position = skip_tags(data, position)
        topics.append(_new_topic((name, topic_id, partitions)))
    return topics, position


def _decode_partitions(version: int, data: memoryview, position: int, count: int) -> tuple[list[FetchPartition], int]:
    if version >= FLEXIBLE_FROM:
        return _decode_flexible_partitions(data, position, count)
    layout = _until_4 if version < 5 else _until_8 if version < 9 else _until_11
    end = position + count * layout.size
    check_left(data, position, end - position)
    rows = layout.iter_unpack(data[position:end])
    if version < 5:
        return [_new_partition((number, -1, offset, -1, -1, size)) for number, offset, size in rows], end
    if version < 9:
        return [_new_partition((number, -1, offset, -1, start, size)) for number, offset, start, size in rows], end
    return [
        _new_partition((number, epoch, offset, -1, start, size)) for number, epoch, offset, start, size in rows
    ], end


def _decode_flexible_partitions(data: memoryview, position: int, count: int) -> tuple[list[FetchPartition], int]:
    """Without tags all partitions have the same size, and are read in one go if there are more than a few."""
    size = _from_12.size
    end = position + count * size
    if count >= _MANY and end <= len(data):
        raw = bytes(data[position:end])
        if raw[size - 1 :: size].count(0) == count:
            return list(map(_new_partition, _from_12.iter_unpack(raw))), end
    partitions = []
    for _ in range(count):
        partitions.append(_new_partition(_from_12_untagged.unpack_from(data, position)))
        position = skip_tags(data, position + _from_12_untagged.size)
    return partitions, position


def _decode_forgotten(
    version: int, data: memoryview, position: int, form: Form, room: WireRoom, count: int
) -> tuple[list[ForgottenTopic], int]:
    topics = []
    for _ in range(count):
        name, topic_id = None, None
        if version >= TOPIC_IDS_FROM:
            (topic_id,) = _topic_id(data, position)
            position += 16
        else:
            name, position = form.required_string(data, position)
        found, position = form.required_array(data, position, room)
        partitions = list(struct.unpack_from(f">{found}i", data, position))
        position = form.skip_tags(data, position + 4 * found)
        topics.append(ForgottenTopic(name, topic_id, partitions))
    return topics, position


def _decode_tags(data: memoryview, position: int) -> tuple[int, int]:
    """The replica's id and epoch, if they are there; a consumer leaves them out."""
    replica = (-1, -1)
    if data[position] == 0:
        return replica
    count, position = varint(data, position)
    for _ in range(count):
        number, size, position = tag(data, position)
        if number == _REPLICA_STATE:
            replica = _replica_state.unpack_from(data, position)
            if skip_tags(data, position + _replica_state.size) != position + size:
                raise Malformed("the replica's state has another size than announced", position)
        position += size
    return replica
