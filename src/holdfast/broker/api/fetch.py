"""Fetch: read many partitions, or wait together for the first of them to have something."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from holdfast.broker.codes import code_of
from holdfast.broker.fetch_sessions import (
    FetchSessions,
    SessionEpochWrong,
    SessionMixed,
    SessionUnknown,
    TopicKey,
    Wanted,
)
from holdfast.broker.request import Body, Request
from holdfast.broker.topics import Topics
from holdfast.errors import Corrupt, HoldfastError
from holdfast.io.clock import Clock
from holdfast.log.partition import PartitionLog
from holdfast.protocol.codes import Code
from holdfast.protocol.fetch import TOPIC_IDS_FROM, FetchPartition, FetchRequest, decode_request
from holdfast.protocol.fetch_response import AbortedTransaction, EpochEnd, Fetched, FetchedTopic, encode_response

_READ_COMMITTED = 1


class Fetch:
    """The fetch path of all connections."""

    def __init__(self, topics: Topics, sessions: FetchSessions, clock: Clock, size_max: int) -> None:
        self._topics = topics
        self._sessions = sessions
        self._clock = clock
        self._size_max = size_max

    async def handle(self, request: Request) -> Body:
        message = decode_request(request.version, request.body)
        try:
            session, wanted, incremental = self._sessions.take(message, by_id=request.version >= TOPIC_IDS_FROM)
        except SessionUnknown:
            return encode_response(request.version, [], error_code=Code.FETCH_SESSION_ID_NOT_FOUND)
        except SessionMixed:
            return encode_response(request.version, [], error_code=Code.FETCH_SESSION_TOPIC_ID_ERROR)
        except SessionEpochWrong:
            return encode_response(request.version, [], error_code=Code.INVALID_FETCH_SESSION_EPOCH)
        answers = await self._read_or_wait(message, wanted)
        if session is not None:
            # Called for all of them: what is sent now is what later answers are compared with.
            changed = [(topic, answer) for topic, answer in answers if session.changed(topic, answer)]
            answers = changed if incremental else answers
        session_id = session.session_id if session is not None else 0
        return encode_response(request.version, _by_topic(answers), session_id=session_id)

    async def _read_or_wait(self, message: FetchRequest, wanted: list[Wanted]) -> list[tuple[TopicKey, Fetched]]:
        deadline = self._clock.monotonic() + message.max_wait_ms / 1000
        while True:
            waits = self._waits(wanted)
            try:
                answers, size, failed = await self._read(message, wanted)
                left = deadline - self._clock.monotonic()
                if size >= message.min_bytes or failed or left <= 0 or not wanted:
                    return answers
                await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            finally:
                _give_up(waits)

    def _waits(self, wanted: list[Wanted]) -> list[asyncio.Future[None]]:
        """Taken before the read, so that nothing can happen unnoticed between the two."""
        waits = []
        for each in wanted:
            partition = self._find(each)
            if isinstance(partition, PartitionLog):
                waits.append(partition.high_watermark.reached(partition.marks.high_watermark + 1))
        return waits

    def _find(self, wanted: Wanted) -> PartitionLog | Corrupt | None:
        topic = self._topics.find(wanted.topic) if isinstance(wanted.topic, str) else None
        if isinstance(wanted.topic, bytes):
            topic = self._topics.find_raw_id(wanted.topic)
        if topic is None or not 0 <= wanted.partition.partition < len(topic.logs):
            return None
        return topic.logs[wanted.partition.partition]

    async def _read(
        self, message: FetchRequest, wanted: list[Wanted]
    ) -> tuple[list[tuple[TopicKey, Fetched]], int, bool]:
        answers: list[tuple[TopicKey, Fetched]] = []
        left = min(message.max_bytes, self._size_max)
        total = 0
        failed = False
        for each in wanted:
            answer = await self._read_one(message, each, left, first=total == 0)
            size = sum(map(len, answer.records))
            left -= size
            total += size
            failed = failed or answer.error_code != 0 or answer.diverging_epoch is not None
            answers.append((each.topic, answer))
        return answers, total, failed

    async def _read_one(self, message: FetchRequest, wanted: Wanted, left: int, *, first: bool) -> Fetched:
        number = wanted.partition.partition
        partition = self._find(wanted)
        if partition is None:
            by_id = isinstance(wanted.topic, bytes) and self._topics.find_raw_id(wanted.topic) is None
            return Fetched(number, Code.UNKNOWN_TOPIC_ID if by_id else Code.UNKNOWN_TOPIC_OR_PARTITION)
        if isinstance(partition, Corrupt):
            return Fetched(number, code_of(partition))
        refused = _check_epochs(partition, wanted.partition)
        if refused is not None:
            return refused
        limit = min(wanted.partition.max_bytes, left)
        committed = message.isolation_level == _READ_COMMITTED
        try:
            return await _read_partition(partition, wanted.partition, limit, first=first, committed=committed)
        except HoldfastError as failure:
            return Fetched(number, code_of(failure))


def _give_up(waits: list[asyncio.Future[None]]) -> None:
    """Stop waiting. What ended a wait, such as a deleted topic, is what the next read says."""
    for wait in waits:
        if not wait.cancel() and not wait.cancelled():
            wait.exception()


def _check_epochs(partition: PartitionLog, wanted: FetchPartition) -> Fetched | None:
    """Tell a reader that has seen another history than ours."""
    number, epoch = wanted.partition, partition.epochs.current
    if 0 <= wanted.current_leader_epoch < epoch:
        return Fetched(number, Code.FENCED_LEADER_EPOCH)
    if wanted.current_leader_epoch > epoch:
        return Fetched(number, Code.UNKNOWN_LEADER_EPOCH)
    if wanted.last_fetched_epoch >= 0:
        end = partition.end_of_epoch(wanted.last_fetched_epoch)
        if end is not None and (end[0] < wanted.last_fetched_epoch or end[1] < wanted.fetch_offset):
            marks = partition.marks
            return Fetched(
                number,
                0,
                marks.high_watermark,
                partition.last_stable,
                marks.log_start,
                diverging_epoch=EpochEnd(*end),
            )
    return None


async def _read_partition(
    partition: PartitionLog, wanted: FetchPartition, limit: int, *, first: bool, committed: bool
) -> Fetched:
    number = wanted.partition
    marks = partition.marks
    if wanted.fetch_offset > marks.log_end or wanted.fetch_offset < marks.log_start:
        code = Code.OFFSET_OUT_OF_RANGE
        return Fetched(number, code, marks.high_watermark, partition.last_stable, marks.log_start)
    aborted: Sequence[AbortedTransaction] | None = [] if committed else None
    if limit <= 0 and not first:
        return Fetched(number, 0, marks.high_watermark, partition.last_stable, marks.log_start, aborted)
    found = await partition.read(wanted.fetch_offset, None, limit, committed=committed)
    buffers = found.buffers
    if not first and sum(map(len, buffers)) > limit:
        buffers = []  # The first batch of an answer is sent however large it is; all others must fit.
    if committed and buffers:
        aborted = [AbortedTransaction(each.producer_id, each.first_offset) for each in found.aborted]
    return Fetched(number, 0, found.high_watermark, found.last_stable, found.log_start, aborted, records=buffers)


def _by_topic(answers: list[tuple[TopicKey, Fetched]]) -> list[FetchedTopic]:
    topics: dict[TopicKey, list[Fetched]] = {}
    for topic, answer in answers:
        topics.setdefault(topic, []).append(answer)
    return [FetchedTopic(topic, partitions) for topic, partitions in topics.items()]
