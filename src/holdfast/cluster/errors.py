"""What can be wrong with a change to the cluster's metadata, to its users and rules.

Rejected
├── TopicUnknown
├── TopicExists
├── ProducerIdsTaken      by another process: take those behind them
├── BrokerLives           a broker of that number is in the cluster already
├── LifeOver              it was ended: join again
├── LeaderLives           another leads
├── LeaderOther           a partition's row is not what a step expects
├── SpreadAlready         leadership is by partition: start with cluster.leaders=many
├── SpreadTooEarly        it is not yet: stop all brokers first
├── TooManyWishes
├── TooManyBrokers
├── BrokerBehind          it does not know the cluster's level: use a newer release
├── BrokersBehind         some that live do not know a level: replace them first
├── LevelBelow            there is no way back to a lower one
├── UserUnknown
├── BadUser               a name, a salt or keys that cannot be kept
├── TooManyUsers
└── TooManyRules          one with a prefix can stand for many
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from holdfast.errors import Rejected


class TopicUnknown(Rejected):
    """There is no such topic."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"there is no topic {topic}")
        self.topic = topic


class TopicExists(Rejected):
    """There is a topic of that name already."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"topic {topic} is there already")
        self.topic = topic


class ProducerIdsTaken(Rejected):
    """Another process has taken these ids meanwhile."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(f"producer ids from {start} on cannot be taken: those below {end} are taken")
        self.start = start
        self.end = end


class BrokerLives(Rejected):
    """A number stands for one broker."""

    def __init__(self, broker: int, name: str) -> None:
        super().__init__(f"broker {broker} is in the cluster already, {name}: give this one another number (node.id)")
        self.broker = broker
        self.name = name


class LifeOver(Rejected):
    """A life that was ended never comes back."""

    def __init__(self, broker: int, life: int) -> None:
        super().__init__(f"life {life} of broker {broker} is over")
        self.broker = broker
        self.life = life


class LeaderLives(Rejected):
    """There is one leader."""

    def __init__(self, leader: int) -> None:
        super().__init__(f"life {leader} leads")
        self.leader = leader


class LeaderOther(Rejected):
    """A partition has another leader than a step expects, or one that lives."""

    def __init__(self, topic_id: UUID, partition: int, life: int, epoch: int) -> None:
        super().__init__(f"partition {topic_id}-{partition} is led by life {life} in epoch {epoch}")
        self.life = life
        self.epoch = epoch


class SpreadAlready(Rejected):
    """Leadership by partition has no way back, and begins once."""

    def __init__(self) -> None:
        super().__init__(
            "each partition of this store has its own leader: start brokers with --cluster --set cluster.leaders=many"
        )


class SpreadTooEarly(Rejected):
    """Others live in the cluster."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"brokers are in the cluster ({'; '.join(names)}): stop them first, then cluster.leaders=many")
        self.names = tuple(names)


class TooManyWishes(Rejected):
    """Partitions have yet to move."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} partitions are to be moved already: wait until they have")
        self.limit = limit


class TooManyBrokers(Rejected):
    """The cluster is full."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"there are {limit} brokers in the cluster already")
        self.limit = limit


class BrokerBehind(Rejected):
    """Who joins has to know what the others write."""

    def __init__(self, broker: int, known: int, level: int) -> None:
        super().__init__(
            f"this cluster is at level {level}, and broker {broker} is of a release that knows up to level {known}: "
            "use a newer one"
        )
        self.broker = broker
        self.known = known
        self.level = level


class BrokersBehind(Rejected):
    """Nothing is written that a broker of the cluster cannot read."""

    def __init__(self, level: int, known: Mapping[int, int]) -> None:
        told = "; ".join(f"broker {broker} up to level {each}" for broker, each in sorted(known.items()))
        super().__init__(f"not all brokers know level {level} ({told}): replace these by a newer release first")
        self.level = level
        self.known = dict(known)


class LevelBelow(Rejected):
    """What was written may be of the level that is reached."""

    def __init__(self, level: int, now: int) -> None:
        super().__init__(f"this cluster is at level {now}, and cannot go back to level {level}")
        self.level = level
        self.now = now


class UserUnknown(Rejected):
    """There is no such user, or none for this mechanism."""

    def __init__(self, user: str, mechanism: str) -> None:
        super().__init__(f"there is no user {user} for {mechanism}")
        self.user = user
        self.mechanism = mechanism


class BadUser(Rejected):
    """What cannot be kept of a user."""

    def __init__(self, user: str, why: str) -> None:
        super().__init__(f"user {user}: {why}")
        self.user = user


class TooManyUsers(Rejected):
    """The list is full."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"there are {limit} users already: remove some, or let them log in with OAUTHBEARER")
        self.limit = limit


class TooManyRules(Rejected):
    """The list is full."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"there are {limit} rules already: one with a prefix can stand for many")
        self.limit = limit
