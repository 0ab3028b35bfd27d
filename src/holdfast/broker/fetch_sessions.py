"""Fetch sessions: what a client fetches is remembered, so that it sends and gets only what has changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from holdfast.errors import Rejected
from holdfast.io.chance import Chance
from holdfast.protocol.fetch import FetchPartition, FetchRequest
from holdfast.protocol.fetch_response import Fetched

TopicKey: TypeAlias = str | bytes  # A name or, from version 13 on, an id.

FINAL_EPOCH = -1  # No session, and the end of the one that is named.
INITIAL_EPOCH = 0  # A new session.


class SessionUnknown(Rejected):
    """There is no such session: begin another one."""


class SessionEpochWrong(Rejected):
    """An answer was lost on the way: begin another session."""


class SessionMixed(Rejected):
    """A session by names is asked for ids, or the other way round, as after an upgrade: begin another session."""


class Wanted(NamedTuple):
    """One partition to be read."""

    topic: TopicKey
    partition: FetchPartition


class FetchSession:
    """What one client fetches."""

    def __init__(self, session_id: int, *, by_id: bool) -> None:
        self.session_id = session_id
        self.by_id = by_id  # One answer cannot name some topics by name and others by id.
        self.epoch = 1
        self._wanted: OrderedDict[tuple[TopicKey, int], Wanted] = OrderedDict()
        self._sent: dict[tuple[TopicKey, int], tuple[int, int]] = {}  # High watermark and log start, as last sent.

    def update(self, request: FetchRequest) -> None:
        """Take over what the request adds, changes and forgets."""
        for wanted in wanted_of(request):
            self._wanted[wanted.topic, wanted.partition.partition] = wanted
        for topic in request.forgotten:
            for number in topic.partitions:
                self._wanted.pop((topic.topic_id or topic.name or "", number), None)
                self._sent.pop((topic.topic_id or topic.name or "", number), None)

    def wanted(self) -> list[Wanted]:
        return list(self._wanted.values())

    def changed(self, topic: TopicKey, answer: Fetched) -> bool:
        """Whether the client has to hear of this; then it counts as sent, and the partition goes to the end."""
        key = (topic, answer.partition)
        now = (answer.high_watermark, answer.log_start_offset)
        if not answer.records and not answer.error_code and not answer.diverging_epoch and self._sent.get(key) == now:
            return False
        self._sent[key] = now
        if answer.records and key in self._wanted:
            self._wanted.move_to_end(key)  # Everybody gets a turn when not all fit into one answer.
        return True


class FetchSessions:
    """All sessions; the one that was silent longest makes room for a new one."""

    def __init__(self, count_max: int, chance: Chance) -> None:
        self._count_max = count_max
        self._chance = chance
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def take(self, request: FetchRequest, *, by_id: bool) -> tuple[FetchSession | None, list[Wanted], bool]:
        """The request's session if it has one, what to read, and whether unchanged partitions are left out."""
        if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            self._sessions.pop(request.session_id, None)
            wanted = list(wanted_of(request))
            if request.session_epoch == FINAL_EPOCH or self._count_max == 0:
                return None, wanted, False
            session = self._new(by_id=by_id)
            session.update(request)
            return session, wanted, False
        session_ = self._sessions.get(request.session_id)
        if session_ is None:
            raise SessionUnknown(f"there is no fetch session {request.session_id}")
        if session_.epoch != request.session_epoch:
            raise SessionEpochWrong(f"fetch session {request.session_id} is at epoch {session_.epoch}")
        if session_.by_id != by_id:
            raise SessionMixed(
                f"fetch session {request.session_id} has its topics {'by id' if not by_id else 'by name'}"
            )
        self._sessions.move_to_end(request.session_id)
        session_.epoch = session_.epoch % (2**31 - 1) + 1
        session_.update(request)
        return session_, session_.wanted(), True

    def _new(self, *, by_id: bool) -> FetchSession:
        while len(self._sessions) >= self._count_max:
            self._sessions.popitem(last=False)
        session_id = 0
        while session_id == 0 or session_id in self._sessions:
            session_id = self._chance.bits(31)
        self._sessions[session_id] = FetchSession(session_id, by_id=by_id)
        return self._sessions[session_id]


def wanted_of(request: FetchRequest) -> Iterator[Wanted]:
    for topic in request.topics:
        key = topic.topic_id or topic.name or ""
        for partition in topic.partitions:
            yield Wanted(key, partition)
