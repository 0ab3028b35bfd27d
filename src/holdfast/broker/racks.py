"""Which broker of a cluster is in which rack, by the metadata as it was seen last; and who reads for others.

Every broker can read what is flushed. Of those in one rack, a hash of the partition says which one does: all brokers
give the same answer, and each block is in the cache of one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID
from zlib import crc32

from holdfast.cluster.lives import Lives
from holdfast.types import PartitionId


class Racks:
    """Belongs to one event loop."""

    def __init__(self, lives: Callable[[], Lives], broker: int, rack: str, *, are_many: bool) -> None:
        self._lives = lives
        self._broker = broker
        self.rack = rack  # Our own; "": not said.
        self._are_many = are_many  # Whether others lead, too. Where one leads everything nobody reads for it.
        self._seen: Lives | None = None
        self._of: dict[int, str] = {}
        self._readers: dict[str, list[int]] = {}
        self._number = 0

    @property
    def number(self) -> int:
        """Another one whenever other brokers read for others."""
        self._look()
        return self._number

    def of(self, broker: int) -> str | None:
        """A broker's rack, as clients are told."""
        self._look()
        return self._of.get(broker) or None

    def reader(self, home: PartitionId, leader: int, rack: str) -> int | None:
        """Who reads a partition for those in a rack, if that is not the leader's own."""
        self._look()
        readers = self._readers.get(rack)
        if not readers or self._of.get(leader) == rack:
            return None
        return readers[_turn(home) % len(readers)]

    def readers(self, topic_id: UUID, leaders: Sequence[int]) -> list[list[int]]:
        """Of each partition of a topic: one in each rack but the leader's own."""
        self._look()
        if not self._readers:
            return [[]] * len(leaders)
        racks = list(self._readers.items())
        turns = (_turn(PartitionId(topic_id, number)) for number in range(len(leaders)))
        return [
            [readers[turn % len(readers)] for rack, readers in racks if rack != self._of.get(leader)]
            for turn, leader in zip(turns, leaders, strict=True)
        ]

    def _look(self) -> None:
        lives = self._lives()
        if lives is self._seen:
            return
        self._seen = lives
        known = {**lives.gone, **lives.by_broker}  # Clients are told of those who have gone, for a while.
        self._of = {**{each.broker: each.rack for each in known.values()}, self._broker: self.rack}
        readers: dict[str, list[int]] = {}
        for broker in sorted(each.broker for each in lives.by_broker.values() if each.life not in lives.leaving):
            if self._are_many and self._of[broker]:
                readers.setdefault(self._of[broker], []).append(broker)
        if readers != self._readers:
            self._readers = dict(sorted(readers.items()))
            self._number += 1


def _turn(home: PartitionId) -> int:
    return crc32(home.topic_id.bytes + home.partition.to_bytes(4, "big"))
