"""What the pages look at: the parts of a running broker, as they are handed in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from holdfast.cluster.auth import Auth
from holdfast.cluster.member import SeenLife
from holdfast.console.followers import Followers
from holdfast.console.history import History
from holdfast.console.lag import Lags
from holdfast.console.readers import ReaderSurvey, log_of
from holdfast.console.schemas import Schemas
from holdfast.console.settings import ConsoleSettings
from holdfast.console.survey import ShownTopic, TopicSurvey
from holdfast.coordinator.group.coordinator import GroupCoordinator
from holdfast.coordinator.share.coordinator import ShareCoordinator
from holdfast.coordinator.transaction.coordinator import TransactionCoordinator
from holdfast.errors import Rejected
from holdfast.io.calls import BlockingCalls
from holdfast.io.clock import Clock
from holdfast.io.objects.timed import StoreTimes
from holdfast.log.errors import NotOpen
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import LogSettings
from holdfast.measure import (
    ErrorCounts,
    HeldCounts,
    Histogram,
    PortCounts,
    RecentRounds,
    SubscriptionCounts,
    ThrottleCounts,
    Traffic,
)
from holdfast.protocol.api import Key
from holdfast.protocol.message import Message
from holdfast.security.principal import Session
from holdfast.security.rules import Rules
from holdfast.types import TopicPartition


class PageNotFound(Rejected):
    """There is no such thing, or its visitor may not know of it: nobody can tell these apart."""


class ShownLine(Protocol):
    """A line of the audit log."""

    @property
    def at(self) -> float:
        """In the clock's seconds."""

    @property
    def event(self) -> str: ...

    @property
    def text(self) -> str: ...


class AccessParts(NamedTuple):
    """Who may do what, as it is now."""

    auth: Callable[[], Auth]
    rules: Callable[[], Rules | None]  # None: there is no authorizer.
    quotas: Callable[[], Mapping[str, Mapping[str, float]]]
    recent: Callable[[], Sequence[ShownLine]]  # The last lines of the audit log.
    waiting: Callable[[], Sequence[tuple[str, str, float]]]  # Who waits for a quota: which, whose, so many seconds.


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of a broker that have something to show."""

    version: str
    cluster_id: str
    node_id: int
    store_url: str
    data_path: str
    settings: ConsoleSettings
    log_settings: LogSettings
    logs: Logs
    groups: GroupCoordinator
    shares: ShareCoordinator
    transactions: TransactionCoordinator
    topics: Callable[[], Sequence[ShownTopic]]
    find_topic: Callable[[str], ShownTopic | None]
    ask: Callable[[Session, Key, int, Message], Awaitable[Any]]  # The broker's own handlers, as a visitor.
    port: Callable[[], PortCounts]
    traffic: Traffic
    errors: ErrorCounts
    held: Mapping[str, HeldCounts]
    throttled: Mapping[str, ThrottleCounts]
    syncs: Histogram
    rounds: RecentRounds
    store: StoreTimes
    subscriptions: SubscriptionCounts
    calls: BlockingCalls
    clock: Clock
    history: History
    survey: TopicSurvey
    lags: Lags
    readers: ReaderSurvey
    schemas: Schemas
    followers: Followers
    access: AccessParts
    brokers: Callable[[], Sequence[SeenLife]]  # Of a cluster; empty where a broker is alone.
    free_size: Callable[[], int | None]  # Of the disk.

    def topic(self, name: str) -> ShownTopic:
        found = self.find_topic(name)
        if found is None:
            raise PageNotFound(f"there is no topic {name}")
        return found

    def log_of(self, partition: TopicPartition) -> PartitionLog | None:
        return log_of(self.find_topic, partition)

    def partition(self, name: str, number: str) -> PartitionLog:
        topic = self.topic(name)
        if not number.isdecimal() or int(number) >= len(topic.logs):
            raise PageNotFound(f"there is no partition {name}-{number}")
        found = topic.logs[int(number)]
        if isinstance(found, NotOpen):
            raise found
        return found
