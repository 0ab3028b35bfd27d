"""Why a group has moved on: what began its last generations or epochs, for people. Gone with the process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.coordinator.group.requests import Leaving

_KEPT = 10
_TEXT_MAX = 300
_NAMED_MAX = 3  # Members of many that go together.


class Move(NamedTuple):
    """One of them."""

    at: int  # Milliseconds of the clock that never goes back.
    why: str


class Moves:
    """Those of one group, the oldest first."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: deque[Move] = deque(maxlen=_KEPT)

    def add(self, now: int, why: str) -> None:
        self._last.append(Move(now, why[:_TEXT_MAX]))

    def __iter__(self) -> Iterator[Move]:
        return iter(tuple(self._last))


def left(leaving: Sequence[Leaving]) -> str:
    """What those have done who go, and in whose words why."""
    reasons = {each.reason for each in leaving if each.reason}
    return f"has left: {reasons.pop()}" if len(reasons) == 1 else "has left"


def named(member_ids: Sequence[str]) -> str:
    """Some members, in a sentence."""
    more = len(member_ids) - _NAMED_MAX
    return ", ".join(member_ids[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
