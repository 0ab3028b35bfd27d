"""Who gets which partitions: the assignors there are, and what they work with. Pure functions.

Each partition of a topic that anybody wants goes to exactly one member that wants its topic. Members keep what they
have as far as the rule of the assignor allows, and equal input gives equal output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias
from uuid import UUID

from holdfast.coordinator.group.assignor import range as assignor_range
from holdfast.coordinator.group.assignor import uniform as assignor_uniform
from holdfast.coordinator.group.consumer.member import Partitions


class Wish(NamedTuple):
    """What one member wants, and what it was assigned before."""

    topics: frozenset[UUID]
    current: Partitions
    instance_id: str | None = None

    def rank(self, member_id: str) -> tuple[bool, str]:
        """Members are served in this order; instances come first, and keep their place when they come back."""
        return self.instance_id is None, self.instance_id or member_id


Wishes: TypeAlias = Mapping[str, Wish]  # By member id.
Counts: TypeAlias = Mapping[UUID, int]  # How many partitions each topic has.
Assignor: TypeAlias = Callable[[Sequence[tuple[str, Wish]], Counts], dict[str, Partitions]]

ASSIGNORS: Mapping[str, Assignor] = {"uniform": assignor_uniform.assign, "range": assignor_range.assign}


def assign(name: str, wishes: Wishes, counts: Counts) -> dict[str, Partitions]:
    """What each member gets; a topic without a count is left out."""
    ranked = sorted(wishes.items(), key=lambda item: item[1].rank(item[0]))
    return ASSIGNORS[name](ranked, counts)


def most_wanted(names: Sequence[str | None], default: str) -> str:
    """The assignor that most members ask for; of equals the first by name, and `default` if nobody asks."""
    votes = Counter(name for name in names if name is not None)
    return min(votes, key=lambda name: (-votes[name], name), default=default)
