"""The assignor `uniform`: as many partitions for each as for any other, whatever topics they are of.

Where all members want the same topics, no two differ by more than one, and as few partitions move as that allows.
Otherwise no member that wants a topic has two partitions less than one that holds a part of it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from holdfast.coordinator.group.assignor.shares import share
from holdfast.coordinator.group.consumer.member import Partitions
from holdfast.types import PartitionId

if TYPE_CHECKING:
    from holdfast.coordinator.group.assignor import Counts, Wish


def assign(ranked: Sequence[tuple[str, Wish]], counts: Counts) -> dict[str, Partitions]:
    if not ranked:
        return {}
    if len({wish.topics for _, wish in ranked}) == 1:
        partitions = list(_partitions(sorted(ranked[0][1].topics & counts.keys()), counts))
        even = share({member: sorted(wish.current) for member, wish in ranked}, partitions)
        return {member: frozenset(own) for member, own in even.items()}
    hands = _Hands(ranked, counts)
    hands.deal()
    hands.level()
    return {member: hands.of(member) for member, _ in ranked}


def _partitions(topics: Sequence[UUID], counts: Counts) -> Iterator[PartitionId]:
    return (PartitionId(topic, number) for topic in topics for number in range(counts[topic]))


class _Hands:
    """What each member holds, while it is being dealt."""

    def __init__(self, ranked: Sequence[tuple[str, Wish]], counts: Counts) -> None:
        self._counts = counts
        self._place = {member: place for place, (member, _) in enumerate(ranked)}
        self._wanted: dict[UUID, list[str]] = {}  # Who wants a topic.
        self._held: dict[str, dict[UUID, list[int]]] = {member: {} for member, _ in ranked}
        self._load = dict.fromkeys(self._held, 0)
        taken: set[PartitionId] = set()
        for member, wish in ranked:
            for topic in wish.topics & counts.keys():
                self._wanted.setdefault(topic, []).append(member)
            for each in sorted(wish.current):
                if each.topic_id in wish.topics and each not in taken and each.partition < counts.get(each.topic_id, 0):
                    taken.add(each)
                    self._give(member, each)
        # Topics that few want come first: for the others there is more choice later.
        self._topics = sorted(self._wanted, key=lambda topic: (len(self._wanted[topic]), topic))
        self._left = [each for each in _partitions(self._topics, counts) if each not in taken]

    def of(self, member: str) -> Partitions:
        held = self._held[member]
        return frozenset(PartitionId(topic, number) for topic, numbers in held.items() for number in numbers)

    def deal(self) -> None:
        """Give what nobody has to those who have least."""
        heaps: dict[UUID, list[tuple[int, int, str]]] = {}
        for each in self._left:
            heap = heaps.setdefault(each.topic_id, [])
            if not heap:
                heap.extend(self._entry(member) for member in self._wanted[each.topic_id])
                heapq.heapify(heap)
            self._freshen(heap)
            self._give(heap[0][2], each)

    def level(self) -> None:
        """Move partitions from those who have more to those who have less, until no single move makes it more even.

        Every move makes the sum of the squares of the loads smaller, so this ends.
        """
        while any([self._level_topic(topic) for topic in self._topics]):  # noqa: C419 (all of them, each time)
            pass

    def _level_topic(self, topic: UUID) -> bool:
        low = [self._entry(member) for member in self._wanted[topic]]
        high = [(-load, place, member) for load, place, member in low if self._held[member].get(topic)]
        heapq.heapify(low)
        heapq.heapify(high)
        moved = False
        while high:
            load, place, giver = -high[0][0], high[0][1], high[0][2]
            if not self._held[giver].get(topic):
                heapq.heappop(high)
            elif load != self._load[giver]:
                heapq.heapreplace(high, (-self._load[giver], place, giver))
            else:
                self._freshen(low)
                if load - low[0][0] < 2:
                    break
                self._load[giver] -= 1
                self._give(low[0][2], PartitionId(topic, self._held[giver][topic].pop()))
                moved = True
        return moved

    def _entry(self, member: str) -> tuple[int, int, str]:
        return self._load[member], self._place[member], member

    def _freshen(self, heap: list[tuple[int, int, str]]) -> None:
        """Make the first of a heap the one with the least load; loads grow behind its back, so check it."""
        while heap[0][0] != self._load[heap[0][2]]:
            heapq.heapreplace(heap, self._entry(heap[0][2]))

    def _give(self, member: str, partition: PartitionId) -> None:
        self._held[member].setdefault(partition.topic_id, []).append(partition.partition)
        self._load[member] += 1
