"""When members of a consumer group are given up. Times are milliseconds of a clock that never goes back."""

from __future__ import annotations

import enum


class Wait(enum.Enum):
    """What a member is waited for."""

    SIGN_OF_LIFE = 0
    REVOCATION = 1  # It has to let go of partitions.
    JOIN = 2  # A classic member was told to join again.
    SYNC = 3  # A classic member has joined, and has yet to ask for its assignment.


class Deadlines:
    """Each member has at most one deadline of each kind."""

    def __init__(self) -> None:
        self._ends: dict[str, dict[Wait, int]] = {}
        self.earliest: int | None = None  # Nothing is due before this.

    def set(self, member_id: str, wait: Wait, at: int) -> None:
        self._ends.setdefault(member_id, {})[wait] = at
        self.earliest = at if self.earliest is None else min(self.earliest, at)

    def set_once(self, member_id: str, wait: Wait, at: int) -> None:
        """A deadline that is there already is not moved."""
        if wait not in self._ends.get(member_id, {}):
            self.set(member_id, wait, at)

    def drop(self, member_id: str, wait: Wait) -> None:
        self._ends.get(member_id, {}).pop(wait, None)

    def forget(self, member_id: str) -> None:
        self._ends.pop(member_id, None)

    def due(self, now: int) -> list[tuple[str, Wait]]:
        """Members that have run out of time, each with the first reason."""
        if self.earliest is None or self.earliest > now:
            return []
        found = []
        for member_id, ends in self._ends.items():
            late = [wait for wait, at in ends.items() if at <= now]
            if late:
                found.append((member_id, late[0]))
        return found

    def refresh(self) -> None:
        """Look anew for the earliest deadline."""
        self.earliest = min((at for ends in self._ends.values() for at in ends.values()), default=None)
