"""Who leads which partition: a life, in an epoch. Part of the metadata, once leadership is by partition.

What of a partition is not flushed lies in the series of the life that its row names, and nowhere else. So a row changes
only when the tail is empty: by its own life, which has flushed it, or by another that has settled a life that is over.
Each step says what it expects, so that of two that decide the same thing one does not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, groupby
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from holdfast.cluster.errors import LeaderOther, LifeOver, SpreadAlready, TooManyWishes
from holdfast.cluster.lives import NOBODY, Lives
from holdfast.types import PartitionId

WISHES_MAX: Final = 10_000


class Lead(NamedTuple):
    """One row."""

    life: int
    epoch: int


class Give(NamedTuple):
    """A partition that changes hands: what its row says, and to which life it goes."""

    home: PartitionId
    before: Lead
    to: int


@dataclass(frozen=True, slots=True)
class Leads:
    """All rows. A partition without one has no leader yet, and had none above epoch `floor`."""

    is_spread: bool = False  # Whether leadership is by partition at all.
    floor: int = -1
    by_topic: Mapping[UUID, tuple[Lead, ...]] = field(default_factory=dict)
    wishes: Mapping[PartitionId, int] = field(default_factory=dict)  # Which broker should lead.

    def of(self, home: PartitionId) -> Lead:
        rows = self.by_topic.get(home.topic_id, ())
        return rows[home.partition] if home.partition < len(rows) else Lead(NOBODY, self.floor)

    def led_by(self, life: int) -> list[PartitionId]:
        """Those whose rows name a life."""
        return [home for home, lead in self.rows() if lead.life == life]

    def rows(self) -> Iterator[tuple[PartitionId, Lead]]:
        for topic_id, rows in self.by_topic.items():
            for number, lead in enumerate(rows):
                yield PartitionId(topic_id, number), lead

    def counts(self) -> dict[int, int]:
        """How many partitions each life leads."""
        found: dict[int, int] = {}
        for _, lead in self.rows():
            found[lead.life] = found.get(lead.life, 0) + 1
        return found

    def spread(self, epoch: int) -> Leads:
        if self.is_spread:
            raise SpreadAlready
        return replace(self, is_spread=True, floor=epoch)

    def given(self, by: int, rows: Sequence[Sequence[Any]], lives: Lives) -> Leads:
        if not lives.has(by):
            raise LifeOver(-1, by)
        by_topic, wishes = dict(self.by_topic), dict(self.wishes)
        brokers = {each.life: each.broker for each in lives.by_broker.values()}
        for raw, first, count, life, epoch, to, new_epoch in rows:
            topic_id, before, after = UUID(hex=raw), Lead(life, epoch), Lead(to, new_epoch)
            if to not in brokers:
                raise LifeOver(-1, to)
            if new_epoch <= epoch or (life != by and lives.has(life)):
                raise LeaderOther(topic_id, first, life, epoch)
            for number in range(first, first + count):
                home = PartitionId(topic_id, number)
                if self.of(home) != before:
                    raise LeaderOther(topic_id, number, *self.of(home))
                if wishes.get(home) == brokers[to]:
                    del wishes[home]
            known = list(by_topic.get(topic_id, ()))
            known += [Lead(NOBODY, self.floor)] * (first + count - len(known))
            known[first : first + count] = [after] * count
            by_topic[topic_id] = tuple(known)
        return replace(self, by_topic=MappingProxyType(by_topic), wishes=MappingProxyType(wishes))

    def wished(self, rows: Sequence[Sequence[Any]]) -> Leads:
        wishes = {**self.wishes, **{PartitionId(UUID(hex=raw), number): broker for raw, number, broker in rows}}
        if len(wishes) > WISHES_MAX:
            raise TooManyWishes(WISHES_MAX)
        return replace(self, wishes=MappingProxyType(wishes))

    def without(self, topic_id: UUID) -> Leads:
        """A topic is deleted."""
        left = {each: rows for each, rows in self.by_topic.items() if each != topic_id}
        wishes = {home: broker for home, broker in self.wishes.items() if home.topic_id != topic_id}
        return replace(self, by_topic=MappingProxyType(left), wishes=MappingProxyType(wishes))

    def to_body(self) -> dict[str, Any]:
        topics = {
            topic_id.hex: [[len(list(run)), *lead] for lead, run in groupby(rows)]
            for topic_id, rows in self.by_topic.items()
        }
        wishes = [[home.topic_id.hex, home.partition, broker] for home, broker in self.wishes.items()]
        return {"floor": self.floor, "topics": topics, "wishes": wishes}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Leads:
        topics = {
            UUID(hex=raw): tuple(Lead(life, epoch) for count, life, epoch in runs for _ in range(count))
            for raw, runs in body["topics"].items()
        }
        wishes = {PartitionId(UUID(hex=raw), number): broker for raw, number, broker in body["wishes"]}
        rows, kept = MappingProxyType(topics), MappingProxyType(wishes)
        return cls(is_spread=True, floor=body["floor"], by_topic=rows, wishes=kept)


def spread(number: int, epoch: int) -> list[Any]:
    """From here on leadership is by partition. Expects that nobody lives, and that it was not so before."""
    return ["spread", number, epoch]


def acting_as(broker: int, life: int) -> list[Any]:
    """Expects that this life lives, and changes nothing: what else is in the version is done by it."""
    return ["as", broker, life]


def give(by: int, gives: Iterable[Give]) -> list[Any]:
    """Partitions change hands, each into the next epoch. Neighbours that do the same are one row."""
    rows: list[list[Any]] = []
    for home, before, to in sorted(gives):
        last = rows[-1] if rows else None
        same = [*before, to, before.epoch + 1]
        if last is not None and last[0] == home.topic_id.hex and last[3:] == same and sum(last[1:3]) == home.partition:
            last[2] += 1
        else:
            rows.append([home.topic_id.hex, home.partition, 1, *same])
    return ["give", by, rows]


def forget(life: int) -> list[Any]:
    """The series of a life that is over is needed no more. Expects that no row names it."""
    return ["forget", life]


def wish(wishes: Mapping[PartitionId, int]) -> list[Any]:
    """Some brokers should lead these."""
    return ["wish", [[home.topic_id.hex, home.partition, broker] for home, broker in sorted(wishes.items())]]


def balance(leads: Leads, lives: Lives, moves_max: int) -> dict[PartitionId, int]:
    """Which partitions some brokers should lead, so that none leads more than a tenth above the mean; some at a time.

    From whoever leads most to whoever leads least, and of topics that are spread least.
    """
    by_life: dict[int, dict[UUID, list[PartitionId]]] = {each.life: {} for each in lives.staying}
    for home, lead in leads.rows():
        if lead.life in by_life:
            by_life[lead.life].setdefault(home.topic_id, []).append(home)
    brokers = {each.life: each.broker for each in lives.by_broker.values()}
    counts = {life: sum(map(len, topics.values())) for life, topics in by_life.items()}
    mean = sum(counts.values()) / max(1, len(counts))
    wishes: dict[PartitionId, int] = {}
    while counts and len(wishes) < moves_max:
        most, least = max(counts, key=lambda life: counts[life]), min(counts, key=lambda life: counts[life])
        if counts[most] <= mean * 1.1 or counts[most] - counts[least] < 2:
            break
        here, there = by_life[most], by_life[least]
        topic_id = max(here, key=lambda each: (len(here[each]) - len(there.get(each, ()))) / len(leads.by_topic[each]))
        home = here[topic_id].pop()
        there.setdefault(topic_id, []).append(home)
        wishes[home] = brokers[least]
        counts[most] -= 1
        counts[least] += 1
    return wishes


def assign(homes: Sequence[PartitionId], leads: Leads, lives: Lives) -> list[Give]:
    """To whom partitions go that nobody leads: where a wish says, else in turn, from whoever leads least on."""
    by_broker = {each.broker: each.life for each in lives.staying}
    counts = {each.life: 0 for each in lives.staying}
    counts |= {life: count for life, count in leads.counts().items() if life in counts}
    turns = cycle(sorted(counts, key=lambda life: (counts[life], life)))
    return [Give(home, leads.of(home), by_broker.get(leads.wishes.get(home, -1)) or next(turns)) for home in homes]
