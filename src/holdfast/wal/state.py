"""The state that the log's records are replayed into, and the rules of its changes.

Every change is a pure function from one frozen state to the next; a violated rule raises its own error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from holdfast.wal.errors import (
    CommitAboveLast,
    CommitBackwards,
    LogIdBackwards,
    NotConsecutive,
    TruncateAboveLast,
    TruncateBelowPurged,
    VoteBackwards,
)


class LogId(NamedTuple):
    """An entry's identity: who wrote it, and where. Ordered by epoch, then by index."""

    epoch: int
    index: int  # type: ignore[assignment]  # The word wins over tuple's search method.

    def __str__(self) -> str:
        return f"{self.epoch}:{self.index}"


class Vote(NamedTuple):
    """Whom this log's owner voted for. Ordered by epoch, then by node."""

    epoch: int
    node: int

    def __str__(self) -> str:
        return f"{self.epoch}/{self.node}"


@dataclass(frozen=True, slots=True)
class WalState:
    """What the records say, taken together. Nothing yet is None."""

    vote: Vote | None = None
    last: LogId | None = None  # The last entry, or the purge point when nothing is left above it.
    committed: LogId | None = None
    purged: LogId | None = None  # Entries up to here are gone.
    user_data: bytes = b""

    def __post_init__(self) -> None:
        assert end_of(self.purged) <= end_of(self.last), f"purged {self.purged} is above last {self.last}"

    @property
    def next_index(self) -> int:
        return end_of(self.last)

    @property
    def first_index(self) -> int:
        return end_of(self.purged)

    def voted(self, vote: Vote) -> WalState:
        if self.vote is not None and vote < self.vote:
            raise VoteBackwards(self.vote, vote)
        return replace(self, vote=vote)

    def check_truncate(self, index: int) -> None:
        """Whether the entries from `index` on may be cut."""
        if index < self.first_index:
            raise TruncateBelowPurged(self.purged, index)
        if index > self.next_index:
            raise TruncateAboveLast(self.last, index)

    def truncated(self, last: LogId | None) -> WalState:
        """All entries above `last` are cut."""
        committed = self.committed
        if end_of(committed) > end_of(last):
            committed = last
        return replace(self, last=last, committed=committed)

    def purge(self, upto: LogId) -> WalState:
        if upto.index < self.first_index:
            return self
        if upto.index >= self.next_index and self.last is not None and upto.epoch < self.last.epoch:
            raise LogIdBackwards(self.last, upto)
        last = upto if upto.index >= self.next_index else self.last
        return replace(self, purged=upto, last=last)

    def commit(self, log_id: LogId) -> WalState:
        if log_id.index >= self.next_index:
            raise CommitAboveLast(self.last, log_id)
        if self.committed is not None and log_id.index < self.committed.index:
            raise CommitBackwards(self.committed, log_id)
        return replace(self, committed=log_id)


class Current:
    """A state that changes. Appends are most of what happens, so their effect is kept as two plain numbers."""

    __slots__ = ("_epoch", "_stale", "_state", "next_index")

    def __init__(self, state: WalState) -> None:
        self._state = state
        self._stale = False
        self._epoch = 0
        self.next_index = 0
        self.state = state

    @property
    def state(self) -> WalState:
        if self._stale:
            s = self._state
            self._state = WalState(s.vote, LogId(self._epoch, self.next_index - 1), s.committed, s.purged, s.user_data)
            self._stale = False
        return self._state

    @state.setter
    def state(self, state: WalState) -> None:
        self._state = state
        self._stale = False
        self._epoch = state.last.epoch if state.last else 0
        self.next_index = state.next_index

    def follows(self, first: LogId) -> bool:
        """Whether an entry `first` may come next."""
        return first.index == self.next_index and first.epoch >= self._epoch

    def check_append(self, first: LogId) -> None:
        epoch, index = first
        if index != self.next_index:
            raise NotConsecutive(self.next_index, index)
        if epoch < self._epoch:
            raise LogIdBackwards(self.state.last, first)

    def append(self, epoch: int, end: int) -> None:
        """Entries of `epoch` now go up to `end`."""
        self._epoch = epoch
        self.next_index = end
        self._stale = True


def end_of(log_id: LogId | None) -> int:
    """The index after a log id; 0 when there is none."""
    return 0 if log_id is None else log_id.index + 1
