"""The assignor `range`: topics with the same members and the same number of partitions are cut in the same way.

So a member that has partition 3 of one of them has partition 3 of all of them, which joins rely on. A fresh group gets
runs of consecutive partitions. When members come and go, everybody keeps what it has up to its new share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from holdfast.coordinator.group.assignor.shares import share
from holdfast.coordinator.group.consumer.member import Partitions
from holdfast.types import PartitionId

if TYPE_CHECKING:
    from holdfast.coordinator.group.assignor import Counts, Wish


def assign(ranked: Sequence[tuple[str, Wish]], counts: Counts) -> dict[str, Partitions]:
    found: dict[str, set[PartitionId]] = {member: set() for member, _ in ranked}
    current = {member: _by_topic(wish.current) for member, wish in ranked}
    for (members, count), topics in _alike(ranked, counts).items():
        model = next((each for each in topics if any(current[member].get(each) for member in members)), topics[0])
        numbers = share(
            {member: sorted(n for n in current[member].get(model, ()) if n < count) for member in members},
            range(count),
        )
        for member, own in numbers.items():
            found[member].update(PartitionId(topic, number) for topic in topics for number in own)
    return {member: frozenset(own) for member, own in found.items()}


def _alike(ranked: Sequence[tuple[str, Wish]], counts: Counts) -> dict[tuple[tuple[str, ...], int], list[UUID]]:
    """Topics that are cut in the same way, by who wants them and how many partitions they have."""
    wanted: dict[UUID, list[str]] = {}
    for member, wish in ranked:
        for topic in wish.topics:
            if topic in counts:
                wanted.setdefault(topic, []).append(member)
    alike: dict[tuple[tuple[str, ...], int], list[UUID]] = {}
    for topic in sorted(wanted):
        alike.setdefault((tuple(wanted[topic]), counts[topic]), []).append(topic)
    return alike


def _by_topic(partitions: Iterable[PartitionId]) -> Mapping[UUID, list[int]]:
    found: dict[UUID, list[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, []).append(number)
    return found
