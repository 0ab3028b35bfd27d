"""Partitions by topic: any pair of a name and a number will do where `types.TopicPartition` is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Pair: TypeAlias = tuple[str, int]


def by_topic(pairs: Iterable[Pair]) -> dict[str, list[int]]:
    """Partitions by their topic, as most requests want them."""
    found: dict[str, list[int]] = {}
    for topic, partition in pairs:
        found.setdefault(topic, []).append(partition)
    return found
