"""Share sessions: which partitions a member of a share group fetches, so that it names only what changes.

The table is bounded by sessions and by the partitions of all of them. A session makes room for another only after it
was silent for a time; when none is, the new member is told to come back later.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from holdfast.errors import Rejected, Unavailable
from holdfast.io.clock import Clock
from holdfast.types import PartitionId

FINAL_EPOCH = -1  # The end of a session.
INITIAL_EPOCH = 0  # A new one.
_PARTITIONS_MAX = 200_000  # Of all sessions together.
_SILENCE_S_MIN = 60.0  # A session that was silent for less makes room for nobody.


class ShareSessionUnknown(Rejected):
    """There is no such session: begin another one."""


class ShareSessionEpochWrong(Rejected):
    """An answer was lost on the way: begin another session."""


class TooManyShareSessions(Unavailable):
    """There are as many sessions as may be remembered."""


class ShareSession:
    """What one member fetches, in the order in which it is to be read."""

    def __init__(self) -> None:
        self.epoch = 1
        self.used_at = 0.0
        self.partitions: dict[PartitionId, None] = {}

    def served(self, home: PartitionId) -> None:
        """A partition had its turn: the next fetch begins with others."""
        if home in self.partitions:
            del self.partitions[home]
            self.partitions[home] = None


class ShareSessions:
    """All sessions, the one that was silent longest first."""

    def __init__(self, sessions_max: int, clock: Clock) -> None:
        self._sessions_max = sessions_max
        self._clock = clock
        self._sessions: OrderedDict[tuple[str, str], ShareSession] = OrderedDict()
        self._partition_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def take(
        self, group_id: str, member_id: str, epoch: int, new: Iterable[PartitionId], forgotten: Iterable[PartitionId]
    ) -> ShareSession:
        """The session of a request, with what the request adds to it and takes from it."""
        key = (group_id, member_id)
        if epoch == INITIAL_EPOCH:
            self._remove(key)
            session = ShareSession()
            self._make_room()
            self._sessions[key] = session
        else:
            session = self._known(key, epoch)
            if epoch == FINAL_EPOCH:
                self._remove(key)
                return session
            session.epoch = session.epoch % (2**31 - 1) + 1
        before = len(session.partitions)
        session.partitions.update(dict.fromkeys(new))
        for home in forgotten:
            session.partitions.pop(home, None)
        self._partition_count += len(session.partitions) - before
        if self._partition_count > _PARTITIONS_MAX:
            self._remove(key)
            raise TooManyShareSessions("share sessions remember as many partitions as they may")
        session.used_at = self._clock.monotonic()
        self._sessions.move_to_end(key)
        return session

    def _known(self, key: tuple[str, str], epoch: int) -> ShareSession:
        session = self._sessions.get(key)
        if session is None:
            raise ShareSessionUnknown(f"member {key[1]!r} of group {key[0]} has no share session")
        if epoch not in (FINAL_EPOCH, session.epoch):
            raise ShareSessionEpochWrong(f"the share session of member {key[1]!r} is at epoch {session.epoch}")
        return session

    def _make_room(self) -> None:
        while len(self) >= self._sessions_max:
            oldest = next(iter(self._sessions))
            if self._sessions[oldest].used_at > self._clock.monotonic() - _SILENCE_S_MIN:
                raise TooManyShareSessions(f"there are {self._sessions_max} share sessions, which is as many as may be")
            self._remove(oldest)

    def _remove(self, key: tuple[str, str]) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            self._partition_count -= len(session.partitions)

    def drop(self, session: ShareSession, home: PartitionId) -> None:
        """A partition is no more."""
        if home in session.partitions:
            del session.partitions[home]
            self._partition_count -= 1
