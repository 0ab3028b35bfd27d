"""What can be wrong with a subscription.

Rejected
├── BadFilter           a filter that cannot mean anything, or could never match
├── BadRequest          sources, bounds or a cursor that contradict each other
├── NoSuchSource        no topic of that name, or none that matches the pattern
├── BadCursor           not a cursor, or one of a newer release
├── StoreOutOfReach     the store that the server names cannot be opened from here
├── NotPermitted        no rule lets this user read a topic
├── NotLoggedIn         the server does not know who this is: look at user, password, token, certificate
├── LedByOthers         several brokers lead what is asked for, and the client follows one
├── NoSubscribers       a broker that leads some of it serves no subscriptions
├── CursorDiverged      records that the cursor has seen were lost: choose where to go on
└── SourceGone          a topic was deleted while it was followed
Unavailable
├── ServerGone          the server cannot be reached, or went away: go on from the cursor
├── PartitionMoved      another broker leads it now: ask for routes again, and go on from the cursor
├── NoLeaderYet         nobody leads a partition for now, or nobody knows yet where to find who does
├── LeaseOver           the broker cannot say that it lives: another may lead what it led
├── SessionOver         a token, or the time of a login, has ended: log in again, and go on from the cursor
└── ServerFailed        something in the server that nobody expected: tried some times, then raised
Stopped
└── SubscriptionClosed  it was closed, or has failed for good
"""

from __future__ import annotations

from holdfast.errors import Rejected, Stopped, Unavailable


class BadFilter(Rejected):
    """A filter that cannot be meant."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{text!r} is no filter: {reason}")
        self.text = text
        self.reason = reason


class BadRequest(Rejected):
    """What was asked for contradicts itself."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NoSuchSource(Rejected):
    """There is nothing to follow."""

    def __init__(self, source: str) -> None:
        super().__init__(f"{source} names no topic or partition that there is: check the name, or make it first")
        self.source = source


class BadCursor(Rejected):
    """Not a cursor of this or an earlier release, or not one of these sources."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the cursor cannot be used: {reason}")
        self.reason = reason


class StoreOutOfReach(Rejected):
    """Segments cannot be read from here."""

    def __init__(self, url: str) -> None:
        super().__init__(f"the store {url} cannot be opened from here: hand in one, or do without segment references")
        self.url = url


class NotPermitted(Rejected):
    """Whoever subscribes has not the right to read a topic, be it there or not."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"no rule lets you READ the TOPIC {topic}")
        self.topic = topic


class NotLoggedIn(Rejected):
    """Who it is was not proven. Why is in the server's audit log."""

    def __init__(self) -> None:
        super().__init__("the server does not know who you are: look at user and password, token or certificate")


class LedByOthers(Rejected):
    """The client knows of one server, and another one leads some of what it asks for."""

    def __init__(self, what: str, broker: int, address: str) -> None:
        at = f" at {address}" if address else ""
        super().__init__(
            f"{what} is led by broker {broker}{at}: each broker serves what it leads, and this client did not say that "
            "it asks all of them (supports_routes): ask one broker for its own partitions, or use a newer client"
        )
        self.what = what
        self.broker = broker
        self.address = address


class NoSubscribers(Rejected):
    """A leader without a port for subscribers."""

    def __init__(self, what: str, broker: int) -> None:
        super().__init__(f"{what} is led by broker {broker}, which serves no subscriptions: see its subscribe.listen")
        self.what = what
        self.broker = broker


class CursorDiverged(Rejected):
    """The log has another history than the one that the cursor has seen."""

    def __init__(self, topic: str, partition: int, offset: int, epoch: int, end: int) -> None:
        super().__init__(
            f"{topic}-{partition}: the cursor is at offset {offset} in leader epoch {epoch}, which ended at {end}: "
            f"records that were seen are lost; go on from another cursor, or from a time"
        )
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.epoch = epoch
        self.end = end


class SourceGone(Rejected):
    """A topic that was asked for by name is deleted."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"topic {topic} was deleted while it was followed: subscribe again without it")
        self.topic = topic


class ServerGone(Unavailable):
    """The server did not answer, or stopped answering."""

    def __init__(self, address: str, reason: object) -> None:
        super().__init__(f"the server at {address} is gone: {reason}")
        self.address = address
        self.reason = reason


class PartitionMoved(Unavailable):
    """It goes on at another broker."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is led by another broker now: it goes on there")
        self.what = what


class NoLeaderYet(Unavailable):
    """It is being moved or taken over, or its leader has only just begun."""

    def __init__(self, what: str, broker: int) -> None:
        who = "nobody leads it" if broker < 0 else f"nobody knows where broker {broker} serves subscriptions"
        super().__init__(f"{what} cannot be followed yet: {who}")
        self.what = what
        self.broker = broker


class LeaseOver(Unavailable):
    """What this broker has may be old."""

    def __init__(self) -> None:
        super().__init__("this broker could not say for a while that it lives: others may lead what it led")


class SessionOver(Unavailable):
    """A session has come to its end: that of its token, or that of the time a login lasts."""

    def __init__(self) -> None:
        super().__init__("the session is over: log in again")


class ServerFailed(Unavailable):
    """The server met something that it does not know how to meet. It may pass; if it does not, somebody has to look."""

    def __init__(self, address: str, cause: str) -> None:
        super().__init__(f"the server at {address} failed unexpectedly: {cause}: its log has more")
        self.address = address
        self.cause = cause


class SubscriptionClosed(Stopped):
    """Nothing more comes."""

    def __init__(self, cause: object) -> None:
        super().__init__(f"the subscription is closed: {cause}")
        self.cause = cause
