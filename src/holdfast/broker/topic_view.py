"""Topics as groups see them."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from holdfast.broker.topics import OpenTopic, Topics
from holdfast.coordinator.group.topic_view import KnownTopic


class GroupTopics:
    """What groups need to know of the topics, as they are now."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._version = 0
        topics.on_change.append(self._grow)

    def _grow(self) -> None:
        self._version += 1

    @property
    def version(self) -> int:
        return self._version

    def find(self, name: str) -> KnownTopic | None:
        return _known(self._topics.find(name))

    def find_id(self, topic_id: UUID) -> KnownTopic | None:
        return _known(self._topics.find_id(topic_id))

    def names(self) -> Collection[str]:
        """All, internal ones too, as with Kafka: it is the pattern's business to leave them out."""
        return [each.topic.name for each in self._topics.all()]


def _known(opened: OpenTopic | None) -> KnownTopic | None:
    if opened is None:
        return None
    return KnownTopic(opened.topic.name, opened.topic.topic_id, opened.topic.partitions)
