"""Figures that cost next to nothing to keep: an add, or a look-up in a short list. Who reads them pays for the rest."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeAlias

# Seconds, from a write into memory to a store that does not answer. One list for all, so that they can be compared.
BOUNDS = (
    *(0.0001, 0.00025, 0.0005),
    *(0.001, 0.0025, 0.005),
    *(0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0),
)


class Histogram:
    """How long something took: so many up to each bound, and the time of all together. One thread at a time adds."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)  # The last is for what took longer than every bound.
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds

    @property
    def count(self) -> int:
        return sum(self.counts)


class SyncRound(NamedTuple):
    """One fsync of the write-ahead log."""

    at_ms: int  # When it ended.
    seconds: float
    size: int  # Bytes that were written since the one before.


class RecentRounds:
    """The last of them. One thread adds."""

    __slots__ = ("rounds",)

    def __init__(self, count_max: int = 600) -> None:
        self.rounds: deque[SyncRound] = deque(maxlen=count_max)


class ApiCounts:
    """The requests of one API."""

    __slots__ = ("received_size", "requests", "sent_size", "time")

    def __init__(self) -> None:
        self.requests = 0
        self.received_size = 0  # Bytes of requests.
        self.sent_size = 0  # Bytes of answers.
        self.time = Histogram()  # From a request's arrival to its answer; of those that were answered.


class HeldCounts:
    """How often, and for how long in all, one API's work has held the event loop for too long."""

    __slots__ = ("count", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0


class ThrottleCounts:
    """How often clients were told to wait by one kind of quota, and for how long in all."""

    __slots__ = ("count", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0


class UnreadableCounts:
    """Batches that nobody can read, and that somebody has stepped over. Threads count, too."""

    __slots__ = ("_lock", "by")

    def __init__(self) -> None:
        self.by = {"subscription": 0, "compaction": 0}
        self._lock = Lock()

    def add(self, who: str) -> None:
        with self._lock:
            self.by[who] += 1


class FlushCounts:
    """What has gone from tails into segments."""

    __slots__ = ("flushes", "size")

    def __init__(self) -> None:
        self.flushes = 0
        self.size = 0  # Bytes of batches.

    def add(self, size: int) -> None:
        self.flushes += 1
        self.size += size


class OpenSubscription(Protocol):
    """One that is being served."""

    def lag_records(self) -> int:
        """How many offsets it has yet to go through."""

    def described(self) -> Mapping[str, Any]:
        """Whose it is, and of what."""


class RackCounts:
    """Readers that were sent to a broker in their rack, and what this broker serves such readers."""

    __slots__ = ("pointed", "sent_back", "served_size")

    def __init__(self) -> None:
        self.pointed = 0  # Fetches of a partition whose reader is to go on elsewhere.
        self.served_size = 0  # Bytes of records of partitions that others lead.
        self.sent_back = {"end": 0, "failed": 0}  # Why readers of these had to go back to the leader.


class SubscriptionCounts:
    """The subscriptions of one server."""

    __slots__ = ("events", "open", "sent_size")

    def __init__(self) -> None:
        self.open: set[OpenSubscription] = set()
        self.events = 0
        self.sent_size = 0  # Bytes of messages.


Traffic: TypeAlias = dict[str, ApiCounts]  # By the API's name.
ErrorCounts: TypeAlias = Counter[tuple[str, int]]  # By the API's name, and the code that its answer had.


class PortCounts(NamedTuple):
    """What the Kafka port holds, and whom it did not keep."""

    connections: int
    requests_size: int  # Bytes that have arrived and are not answered.
    answers_size: int  # Bytes that clients have not taken.
    refused: Mapping[str, int]  # By the limit that was hit.
    closed: Mapping[str, int]  # By what they did.
