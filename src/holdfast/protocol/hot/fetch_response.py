"""Answers to Fetch, by hand, as a list of buffers: batches go out as the views they were handed in as.

Response v4-18, flexible from 12:
    | throttle i32 | from 7 error i16 | from 7 session id i32 |
    | topics: | name string, from 13 topic id uuid | partitions: | index i32 | error i16 | high watermark i64 |
    |   last stable offset i64 | from 5 log start offset i64 | aborted?: | producer id i64 | first offset i64 |
    |   from 11 preferred read replica i32 | records bytes |
    |   tags from 12: 0 = diverging epoch, 1 = current leader, 2 = snapshot id |
    | tags from 16: 0 = endpoints of current leaders |

Nothing to read is empty records, never null ones.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.protocol.hot.fetch import FLEXIBLE_FROM
from holdfast.protocol.hot.leaders import CurrentLeader, LeaderAddress, endpoint_tags
from holdfast.protocol.wire import encode_varint
from holdfast.types import Buffer

ENDPOINTS_FROM = 16


class EpochEnd(NamedTuple):
    """Where the reader's last epoch ends in this log: it has to go back to there."""

    epoch: int
    end_offset: int


class SnapshotId(NamedTuple):
    """A snapshot that the reader has to fetch first."""

    end_offset: int
    epoch: int


class AbortedTransaction(NamedTuple):
    """A producer whose records from this offset on are to be dropped until its marker."""

    producer_id: int
    first_offset: int


class Fetched(NamedTuple):
    """The answer for one partition."""

    partition: int
    error_code: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: Sequence[AbortedTransaction] | None = None
    preferred_read_replica: int = -1
    records: Sequence[Buffer] = ()
    diverging_epoch: EpochEnd | None = None
    current_leader: CurrentLeader | None = None
    snapshot_id: SnapshotId | None = None


class FetchedTopic(NamedTuple):
    """The answers for one topic: by name (str) or, from version 13 on, by id (16 bytes)."""

    topic: str | bytes
    partitions: Sequence[Fetched]
    rows: bytes = b""  # More answers, as they are sent …
    row_count: int = 0  # … and how many.


_until_4 = struct.Struct(">ihqq").pack
_until_10 = struct.Struct(">ihqqq").pack
_flexible = struct.Struct(">ihqqqBi").pack
_flexible_empty = struct.Struct(">ihqqqBiBx").pack  # The same with empty records and no tags, as of most of many.
_int32 = struct.Struct(">i").pack
_aborted = struct.Struct(">qq").pack
_aborted_tagged = struct.Struct(">qqx").pack
_TAG_LAYOUTS = (struct.Struct(">iqx"), struct.Struct(">iix"), struct.Struct(">qix"))


def encode_response(
    version: int,
    topics: Sequence[FetchedTopic],
    *,
    error_code: int = 0,
    session_id: int = 0,
    throttle_ms: int = 0,
    endpoints: Sequence[LeaderAddress] = (),
) -> list[Buffer]:
    """The answer, without a header."""
    small = bytearray(struct.pack(">ihi", throttle_ms, error_code, session_id) if version >= 7 else _int32(throttle_ms))
    if version >= FLEXIBLE_FROM:
        return _encode_flexible(topics, small, endpoints if version >= ENDPOINTS_FROM else ())
    return _encode_plain(version, topics, small)


def _encode_flexible(
    topics: Sequence[FetchedTopic], small: bytearray, endpoints: Sequence[LeaderAddress]
) -> list[Buffer]:
    """Small things gather in `small` until records come, which stand for themselves."""
    buffers: list[Buffer] = []
    small += encode_varint(len(topics) + 1)
    for topic, partitions, rows, row_count in topics:
        small += _compact_string(topic) if isinstance(topic, str) else topic
        small += encode_varint(len(partitions) + row_count + 1)
        small += rows
        for (
            partition,
            error,
            high_watermark,
            stable,
            start,
            aborted,
            replica,
            records,
            diverging,
            leader,
            snapshot,
        ) in partitions:
            if not records and not aborted and diverging is None and leader is None and snapshot is None:
                has_list = aborted is not None
                small += _flexible_empty(partition, error, high_watermark, stable, start, has_list, replica, 1)
                continue
            if aborted:
                small += _until_10(partition, error, high_watermark, stable, start)
                small += _compact_aborted(aborted) + _int32(replica)
            else:
                small += _flexible(partition, error, high_watermark, stable, start, aborted is not None, replica)
            if records:
                small += encode_varint(sum(map(len, records)) + 1)
                buffers.append(small)
                buffers += records
                small = bytearray()
            else:
                small.append(1)
            if diverging is None and leader is None and snapshot is None:
                small.append(0)
            else:
                small += _encode_tags((diverging, leader, snapshot))
        small.append(0)
    small += endpoint_tags(endpoints)
    buffers.append(small)
    return buffers


def _compact_string(value: str) -> bytes:
    raw = value.encode()
    return encode_varint(len(raw) + 1) + raw


def _compact_aborted(aborted: Sequence[AbortedTransaction]) -> bytes:
    pairs = [_aborted_tagged(producer_id, first_offset) for producer_id, first_offset in aborted]
    return encode_varint(len(pairs) + 1) + b"".join(pairs)


def _encode_tags(values: Sequence[tuple[int, int] | None]) -> bytes:
    given = [(number, value) for number, value in enumerate(values) if value is not None]
    pieces = [bytes((len(given),))]
    for number, value in given:
        layout = _TAG_LAYOUTS[number]
        pieces.append(bytes((number, layout.size)) + layout.pack(*value))
    return b"".join(pieces)


def _encode_plain(version: int, topics: Sequence[FetchedTopic], small: bytearray) -> list[Buffer]:
    buffers: list[Buffer] = []
    small += _int32(len(topics))
    for topic, partitions, rows, row_count in topics:
        raw = topic.encode() if isinstance(topic, str) else topic
        small += struct.pack(">h", len(raw)) + raw + _int32(len(partitions) + row_count)
        small += rows
        for answer in partitions:
            small += _plain_head(version, answer)
            records = answer.records
            small += _int32(sum(map(len, records)))
            if records:
                buffers.append(small)
                buffers += records
                small = bytearray()
    if small:
        buffers.append(small)
    return buffers


def _plain_head(version: int, answer: Fetched) -> bytes:
    fixed = _until_4(*answer[:4]) if version < 5 else _until_10(*answer[:5])
    if answer.aborted is None:
        aborted = _int32(-1)
    else:
        pairs = [_aborted(producer_id, first_offset) for producer_id, first_offset in answer.aborted]
        aborted = _int32(len(pairs)) + b"".join(pairs)
    return fixed + aborted + (_int32(answer.preferred_read_replica) if version >= 11 else b"")
