"""Fetch and ListOffsets while the store is away: from the write-ahead log where it is certain, else "try again".

Nobody is told that an offset is out of range: what this log does not have, the store may. No leader epoch is told,
since without the store nobody leads; but a reader that has seen a later one than any of ours is told that we do not
know it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from uuid import UUID

from holdfast.broker.net.budget import Budget
from holdfast.cluster.metadata import Metadata, Topic
from holdfast.errors import HoldfastError
from holdfast.io.calls import BlockingCalls
from holdfast.log.recovery.tails import KnownTail, Tails, batches_of, is_own_history
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from holdfast.protocol.hot.fetch import FetchPartition, FetchRequest, FetchTopic
from holdfast.protocol.hot.fetch_response import AbortedTransaction, Fetched, FetchedTopic
from holdfast.types import Buffer, PartitionId

log = logging.getLogger(__name__)

NOT_NOW = Code.KAFKA_STORAGE_ERROR  # Clients try again, and keep their offsets.

_LATEST, _EARLIEST, _EARLIEST_LOCAL = -1, -2, -4
_READ_COMMITTED = 1
_ISOLATION_FROM = 2
_REFUSED_S = 0.2  # Before nothing but refusals is answered: clients ask again at once.
_SIZE_MAX = 16 << 20  # Bytes of one answer.
_SHARE = 4  # One read gets at most this part of what is left for answers.
_NONE_ABORTED: tuple[AbortedTransaction, ...] = ()


class WaitingReads:
    """What readers are answered from the tails."""

    def __init__(self, copy: Metadata, tails: Tails | None = None, calls: BlockingCalls | None = None) -> None:
        self._topics = copy.topics
        self._by_id = {each.topic_id.bytes: each for each in copy.topics.values()}
        self._tails = tails
        self._calls = calls
        self._over = asyncio.Event()
        self.answers: Budget | None = None  # What all answers together may hold.

    def end(self) -> None:
        """The broker is whole: whoever waits for more is answered, and asks that one."""
        self._over.set()

    # Fetch

    async def fetched(self, message: FetchRequest) -> list[FetchedTopic]:
        """What there is, at once; who is at the end waits as long as it wants to, though nothing can come."""
        size_max = left = min(message.max_bytes, _SIZE_MAX)
        answers = []
        committed = message.isolation_level == _READ_COMMITTED
        for topic in message.topics:
            row = []
            for wanted in topic.partitions:
                answer = await self._fetch_one(topic, wanted, left, committed=committed)
                left -= sum(map(len, answer.records))
                row.append(answer)
            answers.append(FetchedTopic(topic.topic_id if topic.topic_id is not None else topic.name or "", row))
        if left == size_max and message.min_bytes > 0:
            is_refused = any(each.error_code for topic in answers for each in topic.partitions)
            wait_s = message.max_wait_ms / 1000
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), min(wait_s, _REFUSED_S) if is_refused else wait_s)
        return answers

    async def _fetch_one(self, topic: FetchTopic, wanted: FetchPartition, left: int, *, committed: bool) -> Fetched:
        number, offset = wanted.partition, wanted.fetch_offset
        named = self._topics.get(topic.name or "") if topic.topic_id is None else self._by_id.get(topic.topic_id)
        known, code = self._known(named, number, wanted.current_leader_epoch, committed=committed)
        if known is None or not known.start <= offset <= known.end:
            return Fetched(number, code)
        if wanted.last_fetched_epoch >= 0 and not is_own_history(known, offset, wanted.last_fetched_epoch):
            return Fetched(number, NOT_NOW)
        records: Sequence[Buffer] = ()
        if offset < known.end and left > 0:
            try:
                records = await self._read(known, offset, min(left, wanted.max_bytes))
            except HoldfastError as failure:
                log.warning("%s-%d: offset %d cannot be read from the log: %s", topic.name, number, offset, failure)
                return Fetched(number, NOT_NOW)
        stable = known.end if known.is_stable else -1
        aborted = _NONE_ABORTED if committed else None
        return Fetched(number, Code.NONE, known.end, stable, known.log_start, aborted, records=records)

    async def _read(self, known: KnownTail, offset: int, size_max: int) -> list[Buffer]:
        assert self._tails is not None
        assert self._calls is not None
        if self.answers is not None:
            await self.answers.room()
            size_max = min(size_max, self.answers.left // _SHARE)
        batches = batches_of(known, offset, size_max)
        spilled = [each for each in batches if each.data is None]
        size = sum(each.size for each in spilled)
        if self.answers is not None:
            self.answers.hold(size)
        try:
            found = iter(await self._calls.local(self._tails.read_back, spilled) if spilled else ())
            return [each.data if each.data is not None else next(found) for each in batches]
        finally:
            if self.answers is not None:
                self.answers.release(size)

    def _known(self, topic: Topic | None, number: int, epoch: int, *, committed: bool) -> tuple[KnownTail | None, Code]:
        """What is certain of a partition, or with which code its reader is to try again."""
        if topic is None or self._tails is None:
            return None, NOT_NOW
        if epoch > self._tails.generation:
            return None, Code.UNKNOWN_LEADER_EPOCH
        known = self._tails.find(PartitionId(topic.topic_id, number))
        return (None if known is None or (committed and not known.is_stable) else known), NOT_NOW

    # ListOffsets

    def offsets(self, message: ListOffsetsRequest, version: int) -> ListOffsetsResponse:
        committed = version >= _ISOLATION_FROM and message.isolation_level == _READ_COMMITTED
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[self._offset(topic.name, each, committed=committed) for each in topic.partitions],
                )
                for topic in message.topics
            ]
        )

    def _offset(self, name: str, wanted: ListOffsetsPartition, *, committed: bool) -> ListOffsetsPartitionResponse:
        number, at = wanted.partition_index, wanted.timestamp
        # Where the log begins does not depend on transactions; where it ends does.
        known, code = self._known(
            self._topics.get(name), number, wanted.current_leader_epoch, committed=committed and at == _LATEST
        )
        offset = -1
        if known is not None and at == _LATEST:
            offset = known.end
        elif known is not None and at in (_EARLIEST, _EARLIEST_LOCAL):
            offset = known.log_start
        if offset < 0:
            return ListOffsetsPartitionResponse(partition_index=number, error_code=code)
        return ListOffsetsPartitionResponse(
            partition_index=number, error_code=Code.NONE, timestamp=-1, offset=offset, leader_epoch=-1
        )

    # What is served

    def served(self) -> list[tuple[str, int, KnownTail]]:
        """The partitions that are served, with their topics' names."""
        if self._tails is None:
            return []
        names = {topic.topic_id: topic.name for topic in self._topics.values()}
        found = [(names.get(home.topic_id), home.partition, self._tails.find(home)) for home in self._tails]
        return sorted((name, number, known) for name, number, known in found if name is not None and known is not None)


def without_deleted(copy: Metadata, deleted: frozenset[UUID]) -> Metadata:
    """The copy may be older than the log, which knows of deletions first."""
    left = {name: each for name, each in copy.topics.items() if each.topic_id not in deleted}
    return replace(copy, topics=MappingProxyType(left))
