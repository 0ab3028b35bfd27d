"""Which partition: a topic by name, and a number. Any pair of the two will do where one is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Pair: TypeAlias = tuple[str, int]


def by_topic(pairs: Iterable[Pair]) -> dict[str, list[int]]:
    """Partitions by their topic, as most requests want them."""
    found: dict[str, list[int]] = {}
    for topic, partition in pairs:
        found.setdefault(topic, []).append(partition)
    return found
