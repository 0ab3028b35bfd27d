"""What groups need to know of topics. Whoever owns the topics hands this in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol
from uuid import UUID


class KnownTopic(NamedTuple):
    """One topic as it is now."""

    name: str
    topic_id: UUID
    partitions: int  # How many.


@dataclass(frozen=True, slots=True)
class Sight:
    """Which topics a member may know of, by the rules as they are when it is asked."""

    who: Hashable  # The same for all who see the same.
    sees: Callable[[str], bool] = field(compare=False, repr=False)


class TopicView(Protocol):
    """All topics as they are now."""

    @property
    def version(self) -> int:
        """Grows with every change of any topic, and of who may know of them."""

    def find(self, name: str) -> KnownTopic | None: ...

    def find_id(self, topic_id: UUID) -> KnownTopic | None: ...

    def names(self) -> Collection[str]:
        """All that a pattern may match, internal topics too."""


class NoTopics:
    """There are none."""

    version = 0

    def find(self, name: str) -> KnownTopic | None:
        del name
        return None

    def find_id(self, topic_id: UUID) -> KnownTopic | None:
        del topic_id
        return None

    def names(self) -> Collection[str]:
        return ()
