"""Fetch: batches as they were stored, views of the received bytes.

Answer v4-11, and the partitions of v13 (`fetch_session`), read by hand so that records are not copied:
    | throttle i32 | from 7 error i16, session id i32 |
    | topics: | name string | partitions: | index i32 | error i16 | high watermark i64 | last stable offset i64 |
    |   from 5 log start offset i64 | aborted?: | producer id i64 | first offset i64 | from 11 replica i32 |
    |   records bytes | from 12 tags |
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.client.codes import check, failure_of
from holdfast.client.connection import Connection
from holdfast.client.errors import NotKafka
from holdfast.client.nodes import Nodes
from holdfast.client.partition import Pair, by_topic
from holdfast.errors import HoldfastError, Unavailable
from holdfast.protocol.api import Key
from holdfast.protocol.errors import Malformed
from holdfast.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from holdfast.protocol.hot.fetch import FLEXIBLE_FROM
from holdfast.protocol.messages import encode_request
from holdfast.protocol.wire import FLEXIBLE, PLAIN, WireRoom
from holdfast.record.layout import HEADER_SIZE, LENGTH_END
from holdfast.types import Buffer, TopicPartition

_head = struct.Struct(">ihqq")
_int64 = struct.Struct(">q").unpack_from
_pair = struct.Struct(">qq")
_tagged_pair = struct.Struct(">qqx")
_length = struct.Struct(">i").unpack_from
_EMPTY = memoryview(b"")


class FetchedBatches(NamedTuple):
    """What one partition answered. `records` are whole batches, one after the other: see `record.batch.split`.

    An error, such as an offset that the partition does not have, is a value here, so that one partition does not hide
    the others. The aborted transactions are pairs of a producer's id and the first offset; None where nobody asked.
    """

    records: memoryview
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[tuple[int, int]] | None
    error: HoldfastError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """How much one fetch may bring, how long it may wait for it, and whether open transactions are left out."""

    max_bytes: int = 50 << 20
    partition_max_bytes: int = 16 << 20
    committed: bool = True
    min_bytes: int = 1
    max_wait_ms: int = 500


def fetch(nodes: Nodes, wanted: Mapping[Pair, int], limits: FetchLimits) -> dict[TopicPartition, FetchedBatches]:
    """Read each partition from an offset on; brokers that lead several answer for all of them together."""
    found: dict[TopicPartition, FetchedBatches] = {}
    for connection, pairs in nodes.by_leader(wanted).items():
        version = connection.version(Key.FETCH)
        offsets = {pair: wanted[pair] for pair in pairs}
        body = _request(version, offsets, limits)
        found |= _read(connection, version, connection.exchange(Key.FETCH, version, body, limits.max_wait_ms / 1000))
    for each in found.values():
        if isinstance(each.error, Unavailable):
            raise each.error
    return found


def _request(version: int, offsets: Mapping[Pair, int], limits: FetchLimits) -> list[Buffer]:
    topics = [
        FetchTopic(
            topic=name,
            partitions=[
                FetchPartition(
                    partition=number, fetch_offset=offsets[name, number], partition_max_bytes=limits.partition_max_bytes
                )
                for number in numbers
            ],
        )
        for name, numbers in by_topic(offsets).items()
    ]
    wanted = FetchRequest(
        replica_id=-1,
        max_wait_ms=limits.max_wait_ms,
        min_bytes=limits.min_bytes,
        max_bytes=limits.max_bytes,
        isolation_level=int(limits.committed),
        session_id=0,
        session_epoch=-1,
        topics=topics,
        forgotten_topics_data=[],
        rack_id="",
    )
    return encode_request(Key.FETCH, version, wanted)


def _read(connection: Connection, version: int, body: memoryview) -> dict[TopicPartition, FetchedBatches]:
    try:
        error, found = _decode(version, body)
    except (Malformed, IndexError, struct.error) as failure:
        connection.close()
        raise NotKafka(str(connection.address), failure) from None
    check("fetch", error)
    return found


def _decode(version: int, data: memoryview) -> tuple[int, dict[TopicPartition, FetchedBatches]]:
    error, position = 0, 4
    if version >= 7:
        (error,) = struct.unpack_from(">h", data, 4)
        position = 10
    room = WireRoom()
    found: dict[TopicPartition, FetchedBatches] = {}
    count, position = PLAIN.required_array(data, position, room)
    for _ in range(count):
        name, position = PLAIN.required_string(data, position)
        parts, position = PLAIN.required_array(data, position, room)
        for _ in range(parts):
            pair, answer, position = read_partition(version, name, data, position, room)
            found[pair] = answer
    return error, found


def read_partition(
    version: int, topic: str, data: memoryview, position: int, room: WireRoom
) -> tuple[TopicPartition, FetchedBatches, int]:
    """The answer for one partition, and where it ends."""
    form, layout = (FLEXIBLE, _tagged_pair) if version >= FLEXIBLE_FROM else (PLAIN, _pair)
    number, code, high_watermark, last_stable = _head.unpack_from(data, position)
    position += _head.size
    log_start = -1
    if version >= 5:
        (log_start,) = _int64(data, position)
        position += 8
    count, position = form.array(data, position, room)
    aborted = None
    if count >= 0:
        end = position + count * layout.size
        aborted = list(layout.iter_unpack(data[position:end]))
        position = end
    position += 4 if version >= 11 else 0
    records, position = form.bytes(data, position)
    position = form.skip_tags(data, position)
    whole = _whole(records) if records is not None else _EMPTY
    pair = TopicPartition(topic, number)
    failure = failure_of(f"fetch from {pair}", code) if code else None
    return pair, FetchedBatches(whole, high_watermark, last_stable, log_start, aborted, failure), position


def _whole(records: memoryview) -> memoryview:
    """Without the piece of a batch that old brokers put at the end when the limit is reached."""
    position = 0
    while position + HEADER_SIZE <= len(records):
        end = position + LENGTH_END + _length(records, position + 8)[0]
        if not position + HEADER_SIZE <= end <= len(records):
            break
        position = end
    return records[:position]
