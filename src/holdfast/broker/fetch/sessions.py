"""Fetch sessions: what a client fetches is remembered, so that it sends and gets only what has changed.

The table is bounded by sessions and by the partitions of all of them. A session makes room for another only after it
was silent for a time; when none is, the new client gets no session, and names all its partitions each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from holdfast.broker.fetch.watch import FetchWatch, PartitionKey, TopicKey
from holdfast.errors import Rejected
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.protocol.hot.fetch import FetchPartition, FetchRequest
from holdfast.protocol.hot.fetch_response import Fetched
from holdfast.security.rules import Rules

FINAL_EPOCH = -1  # No session, and the end of the one that is named.
INITIAL_EPOCH = 0  # A new session.


class SessionUnknown(Rejected):
    """There is no such session: begin another one."""


class SessionEpochWrong(Rejected):
    """An answer was lost on the way: begin another session."""


class SessionMixed(Rejected):
    """A session by names is asked for ids, or the other way round, as after an upgrade: begin another session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """How much may be remembered for clients."""

    sessions_max: int = 1000
    partitions_max: int = 500_000  # Of all sessions together.
    silence_ms_min: int = 120_000  # A session that was silent for less makes room for nobody.


class FetchSession:
    """What one client fetches; without an id it lasts for one request."""

    def __init__(self, session_id: int = 0, *, by_id: bool = False, owner: str = "") -> None:
        self.session_id = session_id
        self.owner = owner  # A user's name: to others it is not there.
        self._rules: Rules | None = None  # By which it was last judged what its owner may read.
        self.by_id = by_id  # One answer cannot name some topics by name and others by id.
        self.epoch = 1
        self.used_at = 0.0
        self.wanted: dict[PartitionKey, FetchPartition] = {}
        self.watch = FetchWatch()
        self._sent: dict[PartitionKey, tuple[int, int]] = {}  # High watermark and log start, as last sent.

    def __len__(self) -> int:
        return len(self.wanted)

    def update(self, request: FetchRequest, named: Mapping[PartitionKey, FetchPartition] | None) -> None:
        """Take over what the request adds, changes and forgets; of a partition that is named twice, the last."""
        if named is None:
            for key, partition in wanted_of(request):
                self.wanted[key] = partition
                self.watch.moved[key] = None
        else:
            self.wanted.update(named)
            self.watch.moved.update(dict.fromkeys(named))
        for topic in request.forgotten:
            for number in topic.partitions:
                key = (topic.topic_id or topic.name or "", number)
                self.wanted.pop(key, None)
                self._sent.pop(key, None)
                self.watch.leave(key)

    def judge_by(self, rules: Rules) -> None:
        """By other rules than before, all is looked at again, whether it moves or not."""
        if rules is not self._rules:
            self._rules = rules
            self.watch.moved.update(dict.fromkeys(self.wanted))

    def changed(self, topic: TopicKey, answer: Fetched) -> bool:
        """Whether the client has to hear of this; then it counts as sent."""
        key = (topic, answer.partition)
        now = (answer.high_watermark, answer.log_start_offset)
        is_plain = not answer.records and not answer.error_code and not answer.diverging_epoch
        if is_plain and answer.preferred_read_replica < 0 and self._sent.get(key) == now:
            return False
        self._sent[key] = now
        return True


class FetchSessions:
    """All sessions, the one that was silent longest first."""

    def __init__(self, limits: SessionLimits, clock: Clock, chance: Chance) -> None:
        self._limits = limits
        self._clock = clock
        self._chance = chance
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        self._partition_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        """The partitions that all sessions together remember."""
        return self._partition_count

    def take(
        self,
        request: FetchRequest,
        *,
        by_id: bool,
        owner: str = "",
        named: Mapping[PartitionKey, FetchPartition] | None = None,
    ) -> tuple[FetchSession, bool]:
        """The request's session, and whether unchanged partitions are left out of the answer.

        Of very many partitions, who has gone through them already, in slices, hands them in as `named`.
        """
        if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            self._end(request.session_id, owner)
            once = FetchSession(by_id=by_id, owner=owner)
            once.update(request, named)
            if request.session_epoch == INITIAL_EPOCH and self._make_room(len(once)):
                self._keep(once)
            return once, False
        session = self._known(request, owner, by_id=by_id)
        before = len(session)
        session.update(request, named)
        self._partition_count += len(session) - before
        if self._partition_count > self._limits.partitions_max and len(session) > before:
            self._remove(session.session_id)
            raise SessionUnknown("fetch sessions remember as many partitions as they may")
        session.epoch = session.epoch % (2**31 - 1) + 1
        self._use(session)
        return session, True

    def drop(self, session: FetchSession) -> None:
        """It is as if it had never begun."""
        session.watch.close()
        self._remove(session.session_id)

    def _known(self, request: FetchRequest, owner: str, *, by_id: bool) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if session is None or session.owner != owner:
            raise SessionUnknown(f"there is no fetch session {request.session_id}")
        if session.epoch != request.session_epoch:
            raise SessionEpochWrong(f"fetch session {request.session_id} is at epoch {session.epoch}")
        if session.by_id != by_id:
            raise SessionMixed(
                f"fetch session {request.session_id} has its topics {'by id' if not by_id else 'by name'}"
            )
        return session

    def _make_room(self, partitions: int) -> bool:
        """Whether a session of so many partitions can be remembered; sessions that were silent for long go for it."""
        limits = self._limits
        if not limits.sessions_max or partitions > limits.partitions_max:
            return False
        before = self._clock.monotonic() - limits.silence_ms_min / 1000
        while len(self) >= limits.sessions_max or self._partition_count + partitions > limits.partitions_max:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or oldest.used_at > before:
                return False
            self._remove(oldest.session_id)
        return True

    def _keep(self, session: FetchSession) -> None:
        while session.session_id == 0 or session.session_id in self._sessions:
            session.session_id = self._chance.bits(31)
        self._sessions[session.session_id] = session
        self._partition_count += len(session)
        self._use(session)

    def _use(self, session: FetchSession) -> None:
        session.used_at = self._clock.monotonic()
        self._sessions.move_to_end(session.session_id)

    def _end(self, session_id: int, owner: str) -> None:
        """Their own, if it is there."""
        session = self._sessions.get(session_id)
        if session is not None and session.owner == owner:
            self._remove(session_id)

    def _remove(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partition_count -= len(session)
            session.watch.close()


def wanted_of(request: FetchRequest) -> Iterator[tuple[PartitionKey, FetchPartition]]:
    for topic in request.topics:
        name = topic.topic_id or topic.name or ""
        for partition in topic.partitions:
            yield (name, partition.partition), partition
