"""Fetch: read many partitions, or wait together for the first of them to have something."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from holdfast.broker.codes import code_of
from holdfast.broker.elsewhere import Others, endpoints_of, nobody_else
from holdfast.broker.fetch.by_rack import ReadsByRack
from holdfast.broker.fetch.ends import ReadersAtEnd
from holdfast.broker.fetch.partition import NONE_ABORTED, check_epochs, has_moved, read_partition, size_of
from holdfast.broker.fetch.sessions import (
    FINAL_EPOCH,
    FetchSession,
    FetchSessions,
    SessionEpochWrong,
    SessionMixed,
    SessionUnknown,
    wanted_of,
)
from holdfast.broker.fetch.share import MANY_SIZE, FetchShare
from holdfast.broker.fetch.watch import PartitionKey, TopicKey
from holdfast.broker.guard.gate import Gate
from holdfast.broker.guard.rights import READ_TOPIC, NotAllowed
from holdfast.broker.net.budget import Budget
from holdfast.broker.net.request import Body, Request
from holdfast.broker.net.slices import Slices
from holdfast.broker.throttle import Throttle
from holdfast.broker.topics import OpenTopic, Topics
from holdfast.errors import HoldfastError
from holdfast.io.calls import BlockingCalls
from holdfast.io.clock import Clock
from holdfast.log.errors import LedElsewhere, NotOpen
from holdfast.log.partition.partition import PartitionLog
from holdfast.measure import ErrorCounts
from holdfast.protocol.codes import Code
from holdfast.protocol.hot.fetch import TOPIC_IDS_FROM, FetchPartition, FetchRequest, decode_request
from holdfast.protocol.hot.fetch_many import AskedRows, decode_rows
from holdfast.protocol.hot.fetch_response import ENDPOINTS_FROM, Fetched, FetchedTopic, encode_response
from holdfast.protocol.hot.leaders import CurrentLeader, LeaderAddress
from holdfast.security.principal import Session
from holdfast.types import PartitionId

_READ_COMMITTED = 1
_FIRST_SIZE = 1 << 20  # The first batch comes however large it is: so much is counted before it is read.
_SHARE = 4  # One read gets at most this part of what is left for answers.
_LARGE_SIZE = 128 << 10  # Of a request: from here on a thread decodes it and encodes its answer.
_ROWS_SIZE_MAX = 1 << 20  # Of a request that is read as columns, in one go.
_SLICE = 64  # Partitions, after which a look at the clock is worth its time.
_SLICE_S = 0.002
_READ_S = 1.0  # Who has something to send after this sends it, although there is more to be read.
_EMPTY = Fetched(0)[6:]  # Nothing to read, and nothing to say besides.
_new_fetched: Callable[[tuple[object, ...]], Fetched] = partial(tuple.__new__, Fetched)


class Fetch:
    """The fetch path of all connections."""

    def __init__(
        self,
        topics: Topics,
        sessions: FetchSessions,
        clock: Clock,
        heavy: BlockingCalls,
        size_max: int,
        answers: Budget,
        gate: Gate,
        throttle: Throttle,
        others: Others = nobody_else,
        by_rack: ReadsByRack | None = None,
    ) -> None:
        self._others = others  # Brokers that may lead what we do not.
        self.by_rack = by_rack  # Where there are any, and who reads old records for whom.
        self.errors: ErrorCounts = Counter()
        self._throttle = throttle
        self._gate = gate
        self._topics = topics
        self._sessions = sessions
        self._clock = clock
        self._heavy = heavy
        self._size_max = size_max
        self._share = FetchShare(clock)
        self.answers = answers  # What all answers together may hold.

    async def handle(self, request: Request) -> Body:
        is_large = len(request.body) > _LARGE_SIZE
        names_many = len(request.body) > MANY_SIZE
        if names_many:
            await self._share.turn()
        began = self._clock.monotonic()
        if names_many and len(request.body) <= _ROWS_SIZE_MAX:
            found = decode_rows(request.version, request.body)
            if found is not None and found[0].session_epoch == FINAL_EPOCH and not found[0].session_id:
                return await self._by_rows(request, *found, began)
        named: dict[PartitionKey, FetchPartition] | None = None
        if is_large:
            message = await self._heavy.run(decode_request, request.version, request.body)
            named = {key: each async for key, each in Slices(self._clock).through(wanted_of(message))}
        else:
            message = decode_request(request.version, request.body)
        try:
            session, incremental = self._sessions.take(
                message, by_id=request.version >= TOPIC_IDS_FROM, owner=request.session.principal.name, named=named
            )
        except SessionUnknown:
            return self._refused(request.version, Code.FETCH_SESSION_ID_NOT_FOUND)
        except SessionMixed:
            return self._refused(request.version, Code.FETCH_SESSION_TOPIC_ID_ERROR)
        except SessionEpochWrong:
            return self._refused(request.version, Code.INVALID_FETCH_SESSION_EPOCH)
        size_max = self._throttle.fetch_size_max(request) if self._throttle.is_on else None
        if size_max == 0:
            return self._nothing(request, session, incremental=incremental)
        session.judge_by(self._gate.rules)
        reading = _Reading(self, message, session, request, size_max, whole=not incremental)
        spent = self._clock.monotonic() - began
        try:
            answers = await reading.read_or_wait()
            began = self._clock.monotonic()
            body = await self._encoded(request, session, answers, is_large=is_large, incremental=incremental)
            if names_many:
                self._share.spent(
                    spent + reading.spent + self._clock.monotonic() - began, reading.size, len(request.body)
                )
            return body
        finally:
            reading.release()  # From here on the connection counts what it sends.
            if not session.session_id:
                session.watch.close()

    async def _by_rows(self, request: Request, message: FetchRequest, asked: list[AskedRows], began: float) -> Body:
        """Answer a client without a session that names many partitions, and stands at the end of most of them."""
        size_max = self._throttle.fetch_size_max(request) if self._throttle.is_on else None
        if size_max == 0:
            return encode_response(request.version, [])
        session = FetchSession(by_id=request.version >= TOPIC_IDS_FROM, owner=request.session.principal.name)
        at_end: dict[TopicKey, ReadersAtEnd] = {}
        try:
            pace = Slices(self._clock)
            for rows in asked:
                await self._look(request.session, rows, session, at_end, pace)
            reading = _Reading(self, message, session, request, size_max, whole=True, more=bool(at_end))
            spent = self._clock.monotonic() - began
            try:
                answers = await reading.read_or_wait()
                began = self._clock.monotonic()
                topics = _with_rows(request.version, answers, at_end, committed=reading.committed)
                body = encode_response(request.version, topics, endpoints=self._endpoints(request, answers))
                self._share.spent(
                    spent + reading.spent + self._clock.monotonic() - began, reading.size, len(request.body)
                )
                return body
            finally:
                reading.release()
        finally:
            session.watch.close()
            for each in at_end.values():
                each.close()

    async def _look(
        self,
        sender: Session,
        rows: AskedRows,
        session: FetchSession,
        at_end: dict[TopicKey, ReadersAtEnd],
        pace: Slices,
    ) -> None:
        """Which partitions of a topic have something new; all, where they are not as usual."""
        topic = self._topic(rows.topic)
        is_odd = topic is None or not rows.are_plain(len(topic.logs)) or self.is_refused(sender, rows.topic)
        if topic is None or is_odd:
            async for number, partition in pace.through(rows.some(rows.places)):
                session.wanted[rows.topic, number] = partition
                session.watch.note((rows.topic, number))
            return
        await topic.ends.refresh(topic.logs, rows.numbers, pace)
        readers = at_end[rows.topic] = ReadersAtEnd(topic.ends, rows, session.wanted, session.watch)
        readers.look()
        await readers.want_others(pace)

    def _refused(self, version: int, code: Code) -> Body:
        self.errors["Fetch", code] += 1
        return encode_response(version, [], error_code=code)

    def _nothing(self, request: Request, session: FetchSession, *, incremental: bool) -> Body:
        """For whoever has used up their quota. A session that would begin with nothing does not begin."""
        if not incremental:
            self._sessions.drop(session)
            return encode_response(request.version, [])
        return encode_response(request.version, [], session_id=session.session_id)

    async def _encoded(
        self,
        request: Request,
        session: FetchSession,
        answers: list[tuple[TopicKey, Fetched]],
        *,
        is_large: bool,
        incremental: bool,
    ) -> Body:
        if session.session_id:
            # Called for all of them: what is sent now is what later answers are compared with.
            changed = [each for each in answers if session.changed(*each)]
            answers = changed if incremental else answers
        if is_large:
            await asyncio.sleep(0)  # To gather them and to sort them by topic in one step would hold the loop.
        topics, endpoints, number = _by_topic(answers), self._endpoints(request, answers), session.session_id
        if is_large:
            run = self._heavy.run
            return await run(encode_response, request.version, topics, session_id=number, endpoints=endpoints)
        return encode_response(request.version, topics, session_id=number, endpoints=endpoints)

    def _endpoints(self, request: Request, answers: list[tuple[TopicKey, Fetched]]) -> Sequence[LeaderAddress]:
        """Where those are that lead what was asked for here."""
        if request.version < ENDPOINTS_FROM or self._others is nobody_else:
            return ()
        wanted = {each.current_leader.leader_id for _, each in answers if each.current_leader is not None}
        return endpoints_of(wanted, self._others, request.session.listener) if wanted else ()

    def find(self, key: PartitionKey) -> PartitionLog | NotOpen | None:
        name, number = key
        topic = self._topic(name)
        if topic is None or not 0 <= number < len(topic.logs):
            return None
        return topic.logs[number]

    def home_of(self, key: PartitionKey) -> PartitionId | None:
        topic = self._topic(key[0])
        return None if topic is None else PartitionId(topic.topic.topic_id, key[1])

    def _topic(self, name: TopicKey) -> OpenTopic | None:
        return self._topics.find(name) if isinstance(name, str) else self._topics.find_raw_id(name)

    def is_refused(self, sender: Session, name: TopicKey) -> bool:
        """Whether they may not read a topic; an id that nobody has is for others to tell."""
        if not self._gate.is_on:
            return False
        called = self._called(name)
        return called is not None and not self._gate.may(sender, READ_TOPIC, called)

    def note_refused(self, sender: Session, name: TopicKey) -> None:
        """Once for each answer that says so."""
        with contextlib.suppress(NotAllowed):
            self._gate.need(sender, READ_TOPIC, self._called(name) or "", "Fetch")

    def _called(self, name: TopicKey) -> str | None:
        """A topic's name; None for an id that nobody has."""
        if isinstance(name, str):
            return name
        topic = self._topics.find_raw_id(name)
        return None if topic is None else topic.topic.name

    def is_unknown_id(self, name: TopicKey) -> bool:
        return isinstance(name, bytes) and self._topics.find_raw_id(name) is None

    @property
    def size_max(self) -> int:
        return self._size_max

    @property
    def clock(self) -> Clock:
        return self._clock


class _Reading:
    """One request's work: read what has moved, until there is enough of it or the time is over."""

    def __init__(
        self,
        fetch: Fetch,
        message: FetchRequest,
        session: FetchSession,
        request: Request,
        size_max: int | None,
        *,
        whole: bool,
        more: bool = False,
    ) -> None:
        self._fetch = fetch
        self._session = session
        self._sender = request.session
        self._by_rack = fetch.by_rack if message.rack_id and message.replica_id < 0 else None
        self._rack = message.rack_id
        self._more = more  # There are partitions that may come to be wanted while it waits.
        self._whole = whole  # Each partition is answered for, also one that has nothing new.
        began = fetch.clock.monotonic()
        self._deadline = began + message.max_wait_ms / 1000
        self._enough_at = max(self._deadline, began + _READ_S)
        self._size_max = min(message.max_bytes, fetch.size_max if size_max is None else min(size_max, fetch.size_max))
        self._size_min = min(message.min_bytes, self._size_max)
        self.committed = message.isolation_level == _READ_COMMITTED
        self._answers: dict[PartitionKey, Fetched] = {}
        self._again: dict[PartitionKey, None] = {}  # What the next request has to look at, whether it moves or not.
        self._size = 0
        self._held = 0  # Bytes that are counted in the budget of all answers.
        self._failed = False
        self._listens = session.session_id != 0  # A fetch without a session listens only if it has to wait.
        self.spent = 0.0  # Seconds of the loop's time.

    @property
    def size(self) -> int:
        """Bytes of records that were found."""
        return self._size

    async def read_or_wait(self) -> list[tuple[TopicKey, Fetched]]:
        watch = self._session.watch
        try:
            while True:
                await self._read_moved()
                left = self._deadline - self._fetch.clock.monotonic()
                if (
                    self._size >= self._size_min
                    or self._failed
                    or left <= 0
                    or not (self._session.wanted or self._more)
                ):
                    return [(name, answer) for (name, _), answer in self._answers.items()]
                if not self._listens:
                    await self._listen()
                await watch.wait(left)
        finally:
            served = {key: None for key in self._again if key in self._answers and self._answers[key].records}
            watch.moved.update({key: None for key in self._again if key not in served})
            watch.moved.update(served)  # Last: everybody gets a turn when not all fit into one answer.

    async def _read_moved(self) -> None:
        watch, clock = self._session.watch, self._fetch.clock
        began = clock.monotonic()
        for count, key in enumerate(list(watch.moved)):
            if count % _SLICE == _SLICE - 1 and clock.monotonic() - began > _SLICE_S:
                self.spent += clock.monotonic() - began
                await asyncio.sleep(0)  # Nobody else has to wait for a fetch of very many partitions.
                began = clock.monotonic()
            if self._has_enough() and not self._whole:
                break  # What is left stays in front of the next fetch.
            wanted = self._session.wanted.get(key)
            watch.moved.pop(key, None)
            if wanted is None:
                continue
            answer = self._nothing_new(key, wanted)
            if answer is not None and key not in self._answers:
                self._answers[key] = answer
            else:
                await self._read_one(key, wanted)
        self.spent += clock.monotonic() - began

    async def _listen(self) -> None:
        """Hear of every movement from now on; what has moved since it was read is to be read again."""
        self._listens = True
        watch, clock = self._session.watch, self._fetch.clock
        began = clock.monotonic()
        for count, key in enumerate(self._session.wanted):
            if count % _SLICE == _SLICE - 1 and clock.monotonic() - began > _SLICE_S:
                self.spent += clock.monotonic() - began
                await asyncio.sleep(0)
                began = clock.monotonic()
            partition, answer = self._fetch.find(key), self._answers.get(key)
            if isinstance(partition, PartitionLog):
                watch.follow(key, partition)
                if answer is not None and not has_moved(partition, answer):
                    continue
            watch.moved[key] = None
        self.spent += clock.monotonic() - began

    def _has_enough(self) -> bool:
        """Whether no more is to be read: as much as fits, or as much as there was time for. Segments may be far away,
        and a client that hears nothing for long asks again for all of them."""
        if not self._size:
            return False
        return self._size >= self._size_max or (
            self._size >= self._size_min and self._fetch.clock.monotonic() > self._enough_at
        )

    def _nothing_new(self, key: PartitionKey, wanted: FetchPartition) -> Fetched | None:
        """The answer where the reader is at the end, as in most of many partitions; None where it may not be."""
        partition = self._fetch.find(key)
        if not isinstance(partition, PartitionLog) or self._fetch.is_refused(self._sender, key[0]):
            return None
        if self._listens:
            self._session.watch.follow(key, partition)
        _, epoch, offset, last_epoch, _, _ = wanted
        marks = partition.marks
        high_watermark = marks.high_watermark
        if offset != high_watermark or last_epoch >= 0 or not partition.is_alive:
            return None
        if epoch >= 0 and epoch != partition.epochs.current:
            return None
        aborted = NONE_ABORTED if self.committed else None
        return _new_fetched((key[1], 0, high_watermark, partition.last_stable, marks.log_start, aborted, *_EMPTY))

    async def _read_one(self, key: PartitionKey, wanted: FetchPartition) -> None:
        before = self._answers.get(key)
        if before is not None:
            self._size -= size_of(before)
        left = 0 if self._has_enough() else await self._allowed(self._size_max - self._size)
        reserved = min(wanted.max_bytes, left)
        self._hold(self._size + (reserved if self._size else max(reserved, _FIRST_SIZE)))
        answer = await self._answer(key, wanted, left, first=self._size == 0)
        self._answers[key] = answer
        self._size += size_of(answer)
        self._hold(self._size)
        if answer.error_code:
            self._fetch.errors["Fetch", answer.error_code] += 1
        failed = answer.error_code != 0 or answer.diverging_epoch is not None or answer.preferred_read_replica >= 0
        self._failed = self._failed or failed
        end = answer.last_stable_offset if self.committed else answer.high_watermark
        if failed or wanted.fetch_offset < end:
            self._again[key] = None  # There is more, or there may be another answer.
        else:
            self._again.pop(key, None)

    async def _allowed(self, left: int) -> int:
        """How much of that may be read: nobody gets the last of what all answers together may hold."""
        answers = self._fetch.answers
        if not self._size:
            await answers.room()
        return min(left, answers.left // _SHARE)

    def _hold(self, size: int) -> None:
        more, self._held = size - self._held, size
        if more > 0:
            self._fetch.answers.hold(more)
        elif more:
            self._fetch.answers.release(-more)

    def release(self) -> None:
        self._hold(0)

    async def _answer(self, key: PartitionKey, wanted: FetchPartition, left: int, *, first: bool) -> Fetched:
        if self._fetch.is_refused(self._sender, key[0]):
            self._fetch.note_refused(self._sender, key[0])
            return Fetched(key[1], Code.TOPIC_AUTHORIZATION_FAILED)
        partition = self._fetch.find(key)
        if partition is None:
            unknown = self._fetch.is_unknown_id(key[0])
            return Fetched(key[1], Code.UNKNOWN_TOPIC_ID if unknown else Code.UNKNOWN_TOPIC_OR_PARTITION)
        limit = min(wanted.max_bytes, left)
        if not isinstance(partition, PartitionLog):
            found = await self._for_others(key, partition, wanted, limit, first=first)
            return _not_here(key[1], partition) if found is None else found
        if self._listens:
            self._session.watch.follow(key, partition)
        refused = check_epochs(partition, wanted)
        if refused is None and self._by_rack is not None:
            refused = self._by_rack.point(self._sender, self._rack, partition, wanted, committed=self.committed)
        if refused is not None:
            return refused
        try:
            return await read_partition(partition, wanted, limit, first=first, committed=self.committed)
        except HoldfastError as failure:
            return _not_here(key[1], failure)

    async def _for_others(
        self, key: PartitionKey, led: NotOpen, wanted: FetchPartition, limit: int, *, first: bool
    ) -> Fetched | None:
        """What is in the store of a partition that another broker leads, for who is in our rack."""
        home = self._fetch.home_of(key)
        if self._by_rack is None or home is None or not isinstance(led, LedElsewhere):
            return None
        if not self._by_rack.is_ours(self._rack):
            return None
        return await self._by_rack.read(home, led, wanted, limit, first=first, committed=self.committed)


def _not_here(number: int, why: HoldfastError) -> Fetched:
    """Nothing can be read; who leads the partition, if that is another broker."""
    leader = None
    if isinstance(why, LedElsewhere) and why.broker >= 0:
        leader = CurrentLeader(why.broker, why.epoch)
    return Fetched(number, code_of(why), current_leader=leader)


def _with_rows(
    version: int, answers: list[tuple[TopicKey, Fetched]], at_end: dict[TopicKey, ReadersAtEnd], *, committed: bool
) -> list[FetchedTopic]:
    """One answer for each topic: of those that were read, and of those that stand at the end."""
    read = {each.topic: each.partitions for each in _by_topic(answers)}
    topics = []
    for topic in dict.fromkeys((*at_end, *read)):
        partitions = read.get(topic, [])
        rows, count = b"", 0
        if topic in at_end:
            for each in partitions:
                at_end[topic].answered(each.partition)
            rows, count = at_end[topic].rows(version, committed=committed)
        topics.append(FetchedTopic(topic, partitions, rows, count))
    return topics


def _by_topic(answers: list[tuple[TopicKey, Fetched]]) -> list[FetchedTopic]:
    topics: dict[TopicKey, list[Fetched]] = {}
    for topic, answer in answers:
        topics.setdefault(topic, []).append(answer)
    return [FetchedTopic(topic, partitions) for topic, partitions in topics.items()]
