"""What comes of a step: claims, each with what was found, and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.errors import Rejected


@dataclass(frozen=True, slots=True)
class DemoClaim:
    """A sentence about what happened, and whether it is true."""

    sentence: str
    holds: bool
    found: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step did. `seconds` are those in which it dealt with `events`."""

    claims: tuple[DemoClaim, ...]
    events: int = 0
    seconds: float = 0.0
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        return self.events / self.seconds if self.seconds else 0.0


class DemoVerdict(StrEnum):
    """How a step ended."""

    AS_CLAIMED = "as claimed"
    NOT_AS_CLAIMED = "NOT AS CLAIMED"
    FAILED = "FAILED"
    NOT_DONE = "not done"


class NotThere(Rejected):
    """The machine lacks what a step needs."""

    def __init__(self, what: str, todo: str) -> None:
        super().__init__(f"{what} is missing: {todo}")
        self.what = what
        self.todo = todo
