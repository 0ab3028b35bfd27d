"""What can be wrong with a change to the cluster's metadata, to its users and rules.

Rejected
├── TopicUnknown
├── TopicExists
├── ProducerIdsTaken      by another process: take those behind them
├── BrokerLives           a broker of that number is in the cluster already
├── LifeOver              it was ended: join again
├── LeaderLives           another leads
├── TooManyBrokers
├── UserUnknown
├── BadUser               a name, a salt or keys that cannot be kept
├── TooManyUsers
└── TooManyRules          one with a prefix can stand for many
"""

from __future__ import annotations

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


class TooManyBrokers(Rejected):
    """The cluster is full."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"there are {limit} brokers in the cluster already")
        self.limit = limit


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
