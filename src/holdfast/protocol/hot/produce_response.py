"""Answers to Produce, by hand.

Response v3-13, flexible from 9:
    | topics: | name string, from 13 topic id uuid | partitions: | index i32 | error i16 | base offset i64 |
    |   log append time i64 | from 5 log start offset i64 | from 8 record errors | from 8 error message string? |
    | throttle i32 |

Tagged fields, from 10 on, tell where a partition has gone (`leaders`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from holdfast.protocol.api import Key
from holdfast.protocol.header import frame_response
from holdfast.protocol.hot.leaders import CurrentLeader, LeaderAddress, endpoint_tags, leader_tags
from holdfast.protocol.hot.produce import FLEXIBLE_FROM
from holdfast.protocol.wire import encode_varint

LEADERS_FROM = 10

_UNTIL_4 = struct.Struct(">ihqq")
_FROM_5 = struct.Struct(">ihqqq")
_WITHOUT_MESSAGE = struct.Struct(">ihqqqBxx")  # The same with no record errors, no message and no tags.
_NO_ERRORS = b"\x00\x00\x00\x00"
_NO_ERRORS_COMPACT = b"\x01"


class Produced(NamedTuple):
    """The answer for one partition."""

    partition: int
    error_code: int = 0
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    error_message: str | None = None
    wrong_records: Sequence[int] = ()  # Of the batch, where only some are: all others failed because of them.


class ProducedElsewhere(Produced):
    """The answer for a partition that another broker leads. Few are: all others need not pay for it."""

    leader: CurrentLeader | None = None


class ProducedTopic(NamedTuple):
    """The answers for one topic: by name (str) or, from version 13 on, by id (16 bytes)."""

    topic: str | bytes
    partitions: Sequence[Produced]


def encode_response(
    version: int, topics: Sequence[ProducedTopic], throttle_ms: int = 0, endpoints: Sequence[LeaderAddress] = ()
) -> bytes:
    """The answer, without a header."""
    flexible = version >= FLEXIBLE_FROM
    pieces = [_count(len(topics), version)]
    for topic, partitions in topics:
        pieces += (_topic(topic, version), _count(len(partitions), version))
        pieces += [_partition(part, version) for part in partitions]
        if flexible:
            pieces.append(b"\x00")
    pieces.append(struct.pack(">i", throttle_ms))
    if flexible:
        pieces.append(endpoint_tags(endpoints if version >= LEADERS_FROM else ()))
    return b"".join(pieces)


def frame_one(version: int, correlation_id: int, topic: str | bytes, answer: Produced, throttle_ms: int = 0) -> bytes:
    """The whole answer to a request for one partition, with size and header, by one call of a prepared `pack`."""
    if version < 5 or answer.error_message is not None or answer.wrong_records:
        body = encode_response(version, [ProducedTopic(topic, [answer])], throttle_ms)
        return b"".join(frame_response(Key.PRODUCE, version, correlation_id, [body]))
    pack, size, head, tail = _prepared(version, topic)
    index, error_code, base_offset, log_append_time_ms, log_start_offset, _, _ = answer
    return pack(
        size,
        correlation_id,
        head,
        index,
        error_code,
        base_offset,
        log_append_time_ms,
        log_start_offset,
        tail,
        throttle_ms,
    )


@lru_cache(maxsize=4096)
def _prepared(version: int, topic: str | bytes) -> tuple[Callable[..., bytes], int, bytes, bytes]:
    """What all answers for a topic have in common: `pack`, the size, what comes before the partition and what after."""
    head = _count(1, version) + _topic(topic, version) + _count(1, version)
    if version < 8:
        tail, end = b"", ""
    elif version < FLEXIBLE_FROM:
        tail, end = _NO_ERRORS + b"\xff\xff", ""
    else:
        head = b"\x00" + head
        tail, end = _NO_ERRORS_COMPACT + b"\x00\x00\x00", "x"
    layout = struct.Struct(f">ii{len(head)}sihqqq{len(tail)}si{end}")
    return layout.pack, layout.size - 4, head, tail


def _partition(answer: Produced, version: int) -> bytes:
    if version < 5:
        return _UNTIL_4.pack(*answer[:4])
    if version >= FLEXIBLE_FROM and answer.error_message is None and not answer.wrong_records:  # A move has a message.
        return _WITHOUT_MESSAGE.pack(*answer[:5], 1)
    fixed = _FROM_5.pack(*answer[:5])
    if version < 8:
        return fixed
    wrong, message = _wrong_records(answer, version), _string(answer.error_message, version)
    if version < FLEXIBLE_FROM:
        return fixed + wrong + message
    leader = answer.leader if isinstance(answer, ProducedElsewhere) and version >= LEADERS_FROM else None
    return fixed + wrong + message + (b"\x00" if leader is None else leader_tags(leader))


def _wrong_records(answer: Produced, version: int) -> bytes:
    if not answer.wrong_records:
        return _NO_ERRORS if version < FLEXIBLE_FROM else _NO_ERRORS_COMPACT
    end = _string(None, version) + (b"\x00" if version >= FLEXIBLE_FROM else b"")  # No message of its own, no tags.
    each = [struct.pack(">i", index) + end for index in answer.wrong_records]
    return _count(len(each), version) + b"".join(each)


def _count(count: int, version: int) -> bytes:
    return encode_varint(count + 1) if version >= FLEXIBLE_FROM else struct.pack(">i", count)


def _topic(topic: str | bytes, version: int) -> bytes:
    return topic if isinstance(topic, bytes) else _string(topic, version)


def _string(value: str | None, version: int) -> bytes:
    if value is None:
        return b"\x00" if version >= FLEXIBLE_FROM else b"\xff\xff"
    raw = value.encode()
    return (encode_varint(len(raw) + 1) if version >= FLEXIBLE_FROM else struct.pack(">h", len(raw))) + raw
