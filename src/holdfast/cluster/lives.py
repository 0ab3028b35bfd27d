"""Lives: the stays of brokers in a cluster, from `join` to `end`, and which of them leads. Part of the metadata.

A life has a number that no other had before or will have. One of them leads everything; the others are ready to take
over. Each step says what it expects, so that two brokers that decide the same thing at once make one decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from holdfast.cluster.errors import BrokerLives, LeaderLives, LifeOver, SpreadTooEarly, TooManyBrokers
from holdfast.cluster.level import FIRST, LEVEL
from holdfast.io.address import Address

NOBODY: Final = 0
LIVES_MAX: Final = 64
GONE_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class BrokerLife:
    """One stay of a broker."""

    broker: int
    life: int
    incarnation: str  # Of its process.
    place: str  # Tells its data directory from others;
    name: str  # the same for people.
    listeners: Mapping[str, Address]  # Where clients of each are told to find it.
    level: int = FIRST  # Up to which its release knows them.
    rack: str = ""  # Where it is, in its operator's words; "": not said.

    def to_row(self) -> dict[str, Any]:
        return {
            "life": self.life,
            "incarnation": self.incarnation,
            "place": self.place,
            "name": self.name,
            "listeners": {name: list(address) for name, address in self.listeners.items()},
            **({"level": self.level} if self.level > FIRST else {}),
            **({"rack": self.rack} if self.rack else {}),
        }

    @classmethod
    def from_row(cls, broker: int, row: Mapping[str, Any]) -> BrokerLife:
        listeners = {name: Address(*address) for name, address in row["listeners"].items()}
        who = row["life"], row["incarnation"], row["place"], row["name"]
        return cls(broker, *who, MappingProxyType(listeners), row.get("level", FIRST), row.get("rack", ""))


@dataclass(frozen=True, slots=True)
class Lives:
    """All that live now."""

    last: int = NOBODY  # The number of the last that began.
    leader: int = NOBODY
    by_broker: Mapping[int, BrokerLife] = field(default_factory=dict)
    over: Mapping[int, int] = field(default_factory=dict)  # Lives that left a series behind, and whose they were.
    leaving: frozenset[int] = frozenset()  # Lives that hand over what they lead: they are given nothing.
    gone: Mapping[int, BrokerLife] = field(default_factory=dict)  # The last that ended, of brokers that are not back.

    @property
    def leading(self) -> BrokerLife | None:
        return next((each for each in self.by_broker.values() if each.life == self.leader), None)

    @property
    def eldest_first(self) -> list[BrokerLife]:
        return sorted(self.by_broker.values(), key=lambda each: each.life)

    @property
    def staying(self) -> list[BrokerLife]:
        """Those that may be given partitions, the eldest first; all, if all are leaving."""
        return [each for each in self.eldest_first if each.life not in self.leaving] or self.eldest_first

    def behind(self, level: int) -> dict[int, int]:
        """Brokers that do not know a level, and up to which they do."""
        return {broker: each.level for broker, each in self.by_broker.items() if each.level < level}

    def has(self, life: int) -> bool:
        return any(each.life == life for each in self.by_broker.values())

    def joined(self, broker: int, row: Mapping[str, Any]) -> Lives:
        before = self.by_broker.get(broker)
        if before is not None:
            raise BrokerLives(broker, before.name)
        if len(self.by_broker) >= LIVES_MAX:
            raise TooManyBrokers(LIVES_MAX)
        made = BrokerLife.from_row(broker, {**row, "life": self.last + 1})
        lives = MappingProxyType({**self.by_broker, broker: made})
        return replace(self, last=made.life, by_broker=lives, gone=MappingProxyType(dict(self._gone_but(broker))))

    def _gone_but(self, broker: int) -> list[tuple[int, BrokerLife]]:
        return [each for each in self.gone.items() if each[0] != broker]

    def ended(self, broker: int, life: int) -> Lives:
        self.check(broker, life)
        left = {each: found for each, found in self.by_broker.items() if each != broker}
        leader = NOBODY if self.leader == life else self.leader
        gone = dict([*self._gone_but(broker), (broker, self.by_broker[broker])][-GONE_MAX:])
        return replace(
            self,
            leader=leader,
            by_broker=MappingProxyType(left),
            leaving=self.leaving - {life},
            gone=MappingProxyType(gone),
        )

    def left_by(self, broker: int, life: int) -> Lives:
        self.check(broker, life)
        return replace(self, leaving=self.leaving | {life})

    def remembered(self, broker: int, life: int) -> Lives:
        """A life is over, and its series has to be settled."""
        return replace(self, over=MappingProxyType({**self.over, life: broker}))

    def forgotten(self, life: int) -> Lives:
        return replace(self, over=MappingProxyType({each: at for each, at in self.over.items() if each != life}))

    def led_by(self, broker: int, life: int) -> Lives:
        self.check(broker, life)
        if self.leader not in (NOBODY, life):
            raise LeaderLives(self.leader)
        return replace(self, leader=life)

    def counted_from(self, number: int) -> Lives:
        """The next life has a number above this one. Expects that nobody lives."""
        if self.by_broker:
            raise SpreadTooEarly([each.name for each in self.eldest_first])
        return replace(self, last=max(self.last, number))

    def check(self, broker: int, life: int) -> None:
        """Raise LifeOver unless it lives."""
        found = self.by_broker.get(broker)
        if found is None or found.life != life:
            raise LifeOver(broker, life)

    def to_body(self) -> dict[str, Any]:
        rows = {str(broker): each.to_row() for broker, each in self.by_broker.items()}
        over = {"over": [list(each) for each in self.over.items()]} if self.over else {}
        leaving = {"leaving": sorted(self.leaving)} if self.leaving else {}
        gone = {"gone": {str(broker): each.to_row() for broker, each in self.gone.items()}} if self.gone else {}
        return {"last": self.last, "leader": self.leader, "brokers": rows, **over, **leaving, **gone}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Lives:
        rows, gone = (
            MappingProxyType({int(broker): BrokerLife.from_row(int(broker), row) for broker, row in some.items()})
            for some in (body["brokers"], body.get("gone", {}))
        )
        over = dict(body.get("over", ()))
        leaving = frozenset(body.get("leaving", ()))
        return cls(body["last"], body["leader"], rows, MappingProxyType(over), leaving, gone)


def join(
    broker: int,
    incarnation: str,
    place: str,
    name: str,
    listeners: Mapping[str, Address],
    level: int = LEVEL,
    rack: str = "",
) -> list[Any]:
    """Begin a life, with the next number. Expects that this broker has none, and knows the level of the metadata."""
    row = BrokerLife(broker, NOBODY, incarnation, place, name, listeners, level, rack).to_row()
    del row["life"]
    return ["join", broker, row]


def end(life: BrokerLife) -> list[Any]:
    """Expects that it lives."""
    return ["end", life.broker, life.life]


def leave(broker: int, life: int) -> list[Any]:
    """It hands over what it leads, and is given nothing. Expects that it lives."""
    return ["leave", broker, life]


def lead(life: BrokerLife) -> list[Any]:
    """Expects that it lives, and that nobody leads."""
    return ["lead", life.broker, life.life]
