"""Produce: batches for many partitions, sent as the buffers they are in.

Request v3-8, and v13 where topics are named by their ids, written by hand so that batches are not copied:
    | transactional id string? | acks i16 | timeout i32 |
    | topics: | name string, in 13 topic id uuid | partitions: | index i32 | records bytes |
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeGuard
from uuid import UUID

from holdfast.client.codes import failure_of, soon
from holdfast.client.connection import Connection
from holdfast.client.errors import BrokerLost, NotKafka, NotNow, Refused
from holdfast.client.nodes import Nodes
from holdfast.client.partition import Pair, by_topic
from holdfast.errors import HoldfastError, Unavailable
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.errors import Malformed
from holdfast.protocol.generated.produce import ProduceResponse
from holdfast.protocol.hot.produce import TOPIC_IDS_FROM
from holdfast.protocol.schema.decoder import decode
from holdfast.protocol.wire import encode_varint
from holdfast.record.layout import HEADER
from holdfast.types import Buffer, TopicPartition

Batches: TypeAlias = Buffer | Sequence[Buffer]  # Whole batches, one after the other, cut into buffers anywhere.

_NO_ID = UUID(int=0)
_TIMEOUT_MS = 30_000
_PRODUCER_ID = 9  # Its place among the header's fields.
_NO_PRODUCER = -1
_NO_TAGS = b"\0"
_UNDECIDED = (Code.REQUEST_TIMED_OUT, Code.NETWORK_EXCEPTION, Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


class OutcomeUnknown(HoldfastError):
    """Stop and look: a batch without a producer's id may or may not have been written.

    It is no `Unavailable`: who tries it again may write it twice.
    """

    def __init__(self, cause: Unavailable) -> None:
        super().__init__(f"{cause}; whether the records were written is not known, and a repeat could write them twice")
        self.cause = cause


class ProduceForm(NamedTuple):
    """What all requests of one call have in common."""

    acks: int
    transactional_id: str | None
    ids: Mapping[str, UUID]
    refused: dict[TopicPartition, Refused] | None  # Where refusals go; None: one is raised.


def produce(nodes: Nodes, batches: Mapping[Pair, Batches], done: dict[TopicPartition, int], form: ProduceForm) -> None:
    """Write to each partition that is not in `done` yet. Base offsets go there: a repeat writes only the rest."""
    over = form.refused or {}
    waiting = {
        TopicPartition(*pair): _buffers(each) for pair, each in batches.items() if pair not in done and pair not in over
    }
    failure: HoldfastError | None = None
    for connection, pairs in nodes.by_leader(waiting).items():
        mine = {TopicPartition(*pair): waiting[TopicPartition(*pair)] for pair in pairs}
        try:
            refused = _produce_to(connection, mine, done, form, are_several=nodes.are_several)
        except BrokerLost as lost:
            refused = lost
        if _may_be_written(refused) and not all(map(_is_idempotent, mine.values())):
            raise OutcomeUnknown(refused) from refused
        failure = refused or failure
    if failure is not None:
        raise failure


def _may_be_written(failure: HoldfastError | None) -> TypeGuard[Unavailable]:
    """Whether what failed may have been written all the same."""
    return isinstance(failure, BrokerLost) or (isinstance(failure, NotNow) and failure.code in _UNDECIDED)


def _produce_to(
    connection: Connection,
    batches: Mapping[TopicPartition, Sequence[Buffer]],
    done: dict[TopicPartition, int],
    form: ProduceForm,
    *,
    are_several: bool,
) -> HoldfastError | None:
    """One request. What was written goes into `done`; of what was not, one failure is returned."""
    acks, transactional_id, ids, _ = form
    version = connection.version(Key.PRODUCE)
    names = {ids[name].bytes: name for name in by_topic(batches) if name in ids}
    if len(names) == len(by_topic(batches)) and connection.knows(Key.PRODUCE, TOPIC_IDS_FROM):
        version = TOPIC_IDS_FROM
        body = _request_by_id(batches, acks, transactional_id, ids)
    else:
        body = _request(batches, acks, transactional_id)
    if acks == 0:
        connection.send(Key.PRODUCE, version, body)
        done |= dict.fromkeys(batches, -1)
        return None
    answer = connection.exchange(Key.PRODUCE, version, body, _TIMEOUT_MS / 1000)
    try:
        topics = decode(ProduceResponse, version, answer).responses
    except Malformed as failure:
        connection.close()
        raise NotKafka(str(connection.address), failure) from None
    refused: HoldfastError | None = None
    for topic in topics:
        for each in topic.partition_responses:
            name = names[(topic.topic_id or _NO_ID).bytes] if version >= TOPIC_IDS_FROM else topic.name
            pair = TopicPartition(name, each.index)
            if each.error_code:
                is_new = are_several and form.refused is None
                code = soon(each.error_code) if is_new else each.error_code
                error = failure_of(f"produce to {pair}", code, each.error_message)
                if form.refused is not None and isinstance(error, Refused):
                    form.refused[pair] = error
                    continue
                refused = error if refused is None or isinstance(refused, Unavailable) else refused
            else:
                done[pair] = each.base_offset
    return refused


def _request(
    batches: Mapping[TopicPartition, Sequence[Buffer]], acks: int, transactional_id: str | None
) -> list[Buffer]:
    topics = by_topic(batches)
    small = bytearray(_string(transactional_id) + struct.pack(">hii", acks, _TIMEOUT_MS, len(topics)))
    buffers: list[Buffer] = []
    for name, numbers in topics.items():
        small += _string(name) + struct.pack(">i", len(numbers))
        for number in numbers:
            records = batches[TopicPartition(name, number)]
            small += struct.pack(">ii", number, sum(map(len, records)))
            buffers += (small, *records)
            small = bytearray()
    return buffers


def _request_by_id(
    batches: Mapping[TopicPartition, Sequence[Buffer]],
    acks: int,
    transactional_id: str | None,
    ids: Mapping[str, UUID],
) -> list[Buffer]:
    topics = by_topic(batches)
    small = bytearray(_compact_string(transactional_id) + struct.pack(">hi", acks, _TIMEOUT_MS))
    small += encode_varint(len(topics) + 1)
    buffers: list[Buffer] = []
    for name, numbers in topics.items():
        small += ids[name].bytes + encode_varint(len(numbers) + 1)
        for number in numbers:
            records = batches[TopicPartition(name, number)]
            small += struct.pack(">i", number) + encode_varint(sum(map(len, records)) + 1)
            buffers += (small, *records)
            small = bytearray(_NO_TAGS)
        small += _NO_TAGS
    return [*buffers, small + _NO_TAGS]


def _compact_string(text: str | None) -> bytes:
    raw = (text or "").encode()
    return b"\0" if text is None else encode_varint(len(raw) + 1) + raw


def _string(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


def _buffers(batches: Batches) -> Sequence[Buffer]:
    return [batches] if isinstance(batches, bytes | bytearray | memoryview) else batches


def _is_idempotent(records: Sequence[Buffer]) -> bool:
    """By the first batch: producers do not mix."""
    first = bytes(records[0][: HEADER.size])
    producer_id: int = HEADER.unpack(first)[_PRODUCER_ID] if len(first) == HEADER.size else _NO_PRODUCER
    return producer_id != _NO_PRODUCER
