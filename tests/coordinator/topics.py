"""Topics that a test makes and changes as it likes."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from holdfast.coordinator.group.topic_view import KnownTopic
from holdfast.types import PartitionId


class SomeTopics:
    """Topics by name and how many partitions each has."""

    def __init__(self, **counts: int) -> None:
        self.version = 0
        self._known: dict[str, KnownTopic] = {}
        self._made = 0
        for name, count in counts.items():
            self.make(name, count)

    def make(self, name: str, partitions: int) -> KnownTopic:
        self.version += 1
        self._made += 1
        self._known[name] = KnownTopic(name, UUID(int=self._made), partitions)
        return self._known[name]

    def grow(self, name: str, partitions: int) -> None:
        self.version += 1
        self._known[name] = self._known[name]._replace(partitions=partitions)

    def delete(self, name: str) -> None:
        self.version += 1
        del self._known[name]

    def find(self, name: str) -> KnownTopic | None:
        return self._known.get(name)

    def find_id(self, topic_id: UUID) -> KnownTopic | None:
        return next((each for each in self._known.values() if each.topic_id == topic_id), None)

    def names(self) -> Collection[str]:
        return list(self._known)

    def partitions(self, *names: str) -> frozenset[PartitionId]:
        """All partitions of these topics; of all topics, if none is named."""
        wanted = [self._known[name] for name in names or self._known if name in self._known]
        return frozenset(PartitionId(each.topic_id, number) for each in wanted for number in range(each.partitions))
