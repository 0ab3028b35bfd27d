"""Who one of several lives is to its logs. It has no claim: that it lives is in the metadata; its series fences it.

Nothing that it acknowledges depends on a look: whoever settles a life that is over seals its series first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from holdfast.log.ownership.owner import Claim, Here


@dataclass(frozen=True, slots=True)
class LifeSeat:
    """One life, as its logs know it."""

    broker: int
    life: int
    look: Callable[[], object]  # Raises Fenced if it is over. Blocks.
    here: Here = field(default_factory=Here)


def writer_of(life: int) -> str:
    """Who a life is in what it writes into the store."""
    return f"life-{life:020}"


class LifeOwner:
    """A life where the logs ask for the owner of a store. Calls block; any thread may make them."""

    heir_of: Collection[str] = ()

    def __init__(self, seat: LifeSeat, now_ms: int) -> None:
        self._seat = seat
        self.incarnation = writer_of(seat.life)
        self.claim = Claim(seat.life, self.incarnation, self.incarnation, "", seat.here, now_ms, rounds=True)

    def look(self, *, may_claim: bool = True) -> None:  # noqa: ARG002  # There is nothing to be claimed.
        """Raise Fenced if the life is over."""
        self._seat.look()
