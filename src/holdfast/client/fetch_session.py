"""Fetch in sessions: a request names only what has changed since the last one, and so does its answer.

So reading a thousand partitions of which one moves costs what one costs. Topics are named by their ids, which never
come back: what is read is of the topic that was meant. Who knows no version 13 is asked for everything, by name.

Request v13, written by hand:
    | replica i32 | max wait i32 | min bytes i32 | max bytes i32 | isolation i8 | session id i32 | session epoch i32 |
    | topics: | topic id uuid | partitions: | index i32 | leader epoch i32 | offset i64 | last epoch i32 |
    |   log start i64 | max bytes i32 | tags | tags |
    | forgotten: | topic id uuid | partitions: i32 | tags | rack string | tags |
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.client.codes import failure_of
from holdfast.client.connection import Connection
from holdfast.client.errors import NotKafka
from holdfast.client.fetching import FetchedBatches, FetchLimits, fetch, read_partition
from holdfast.client.nodes import Nodes
from holdfast.client.partition import Pair, by_topic
from holdfast.errors import Unavailable
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code
from holdfast.protocol.errors import Malformed
from holdfast.protocol.hot.fetch import TOPIC_IDS_FROM
from holdfast.protocol.wire import FLEXIBLE, WireRoom, encode_varint, skip_tags
from holdfast.types import TopicPartition

_head = struct.Struct(">iiiibii").pack
_partition = struct.Struct(">iiqiqix").pack
_answer_head = struct.Struct(">ihi")
_NO_TAGS = b"\0"
_NO_RACK = b"\1"
_EPOCH_MAX = 2_147_483_647
_BEGIN_ANEW = (
    Code.FETCH_SESSION_ID_NOT_FOUND,
    Code.INVALID_FETCH_SESSION_EPOCH,
    Code.FETCH_SESSION_TOPIC_ID_ERROR,
)


@dataclass
class _Session:
    """One broker's: what it has been told."""

    id: int = 0
    epoch: int = 0
    told: dict[Pair, int] = field(default_factory=dict)  # The offset that each partition is read from.

    @property
    def next_epoch(self) -> int:
        return self.epoch + 1 if self.epoch < _EPOCH_MAX else 1


class FetchSession:
    """Reads the same partitions again and again, from offsets that move on. Belongs to one thread."""

    def __init__(self, nodes: Nodes, ids: Mapping[str, UUID], limits: FetchLimits) -> None:
        self._nodes = nodes
        self._ids = ids
        self._names = {each.bytes: name for name, each in ids.items()}
        self._limits = limits
        self._sessions: dict[Connection, _Session] = {}
        self.by_id = True  # The last answer was about the topics that were meant.

    def fetch(self, wanted: Mapping[Pair, int]) -> dict[TopicPartition, FetchedBatches]:
        """What has changed: partitions with records, with other marks than before, or with an error. Tried once."""
        leaders = self._nodes.by_leader(wanted)
        self.by_id = self._know_ids(leaders, wanted)
        if not self.by_id:
            return fetch(self._nodes, wanted, self._limits)
        self._sessions = {each: session for each, session in self._sessions.items() if each in leaders}
        found: dict[TopicPartition, FetchedBatches] = {}
        for connection, pairs in leaders.items():
            found |= self._ask(connection, {pair: wanted[pair] for pair in pairs})
        for each in found.values():
            if isinstance(each.error, Unavailable):
                self._sessions.clear()
                self._nodes.forget()
                raise each.error
        return found

    def _know_ids(self, leaders: Iterable[Connection], wanted: Iterable[Pair]) -> bool:
        named = all(name in self._ids for name in by_topic(wanted))
        return named and all(each.knows(Key.FETCH, TOPIC_IDS_FROM) for each in leaders)

    def _ask(self, connection: Connection, wanted: Mapping[Pair, int]) -> dict[TopicPartition, FetchedBatches]:
        session = self._sessions.setdefault(connection, _Session())
        code, found = self._exchange(connection, session, wanted)
        if code in _BEGIN_ANEW:
            session = self._sessions[connection] = _Session()
            code, found = self._exchange(connection, session, wanted)
        if code:
            del self._sessions[connection]
            raise failure_of("fetch", code)
        return found

    def _exchange(
        self, connection: Connection, session: _Session, wanted: Mapping[Pair, int]
    ) -> tuple[int, dict[TopicPartition, FetchedBatches]]:
        told = session.told if session.id else {}
        news = {pair: offset for pair, offset in wanted.items() if told.get(pair) != offset}
        gone = [pair for pair in told if pair not in wanted]
        body = self._request(session, news, gone)
        answer = connection.exchange(Key.FETCH, TOPIC_IDS_FROM, [body], self._limits.max_wait_ms / 1000)
        try:
            code, session.id, found = self._read(answer)
        except (Malformed, KeyError, IndexError, struct.error) as failure:
            connection.close()
            raise NotKafka(str(connection.address), failure) from None
        session.told = dict(wanted)
        session.epoch = session.next_epoch if session.id else 0
        return code, found

    def _request(self, session: _Session, news: Mapping[Pair, int], gone: Iterable[Pair]) -> bytes:
        limits = self._limits
        sizes = (limits.max_wait_ms, limits.min_bytes, limits.max_bytes)
        body = bytearray(_head(-1, *sizes, int(limits.committed), session.id, session.epoch))
        topics = by_topic(news)
        body += encode_varint(len(topics) + 1)
        for name, numbers in topics.items():
            body += self._ids[name].bytes + encode_varint(len(numbers) + 1)
            for number in numbers:
                body += _partition(number, -1, news[name, number], -1, -1, limits.partition_max_bytes)
            body += _NO_TAGS
        forgotten = by_topic(gone)
        body += encode_varint(len(forgotten) + 1)
        for name, numbers in forgotten.items():
            body += self._ids[name].bytes + encode_varint(len(numbers) + 1)
            body += struct.pack(f">{len(numbers)}i", *numbers) + _NO_TAGS
        return bytes(body + _NO_RACK + _NO_TAGS)

    def _read(self, data: memoryview) -> tuple[int, int, dict[TopicPartition, FetchedBatches]]:
        _, code, session_id = _answer_head.unpack_from(data, 0)
        room = WireRoom()
        found: dict[TopicPartition, FetchedBatches] = {}
        count, position = FLEXIBLE.required_array(data, _answer_head.size, room)
        for _ in range(count):
            name = self._names[bytes(data[position : position + 16])]
            parts, position = FLEXIBLE.required_array(data, position + 16, room)
            for _ in range(parts):
                pair, answer, position = read_partition(TOPIC_IDS_FROM, name, data, position, room)
                found[pair] = answer
            position = skip_tags(data, position)
        return code, session_id, found
