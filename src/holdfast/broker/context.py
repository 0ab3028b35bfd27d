"""The context of a request: what the APIs work with, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.broker.elsewhere import Others, nobody_else
from holdfast.broker.guard.gate import Gate
from holdfast.broker.guard.users import Users
from holdfast.broker.markers import Markers
from holdfast.broker.peers.permits import Permits
from holdfast.broker.racks import Racks
from holdfast.broker.settings import BrokerSettings
from holdfast.broker.share.sessions import ShareSessions
from holdfast.broker.throttle import Throttle
from holdfast.broker.topics import Topics
from holdfast.cluster.lives import Lives
from holdfast.coordinator.group.coordinator import GroupCoordinator
from holdfast.coordinator.share.coordinator import ShareCoordinator
from holdfast.coordinator.share.led import LedShares
from holdfast.coordinator.transaction.coordinator import TransactionCoordinator
from holdfast.coordinator.transaction.producer_ids import ProducerIds
from holdfast.io.calls import BlockingCalls
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.log.logs import Logs


@dataclass(frozen=True, slots=True)
class BrokerContext:
    """One broker's parts, handed to every API."""

    settings: BrokerSettings
    cluster_id: str
    logs: Logs
    topics: Topics
    groups: GroupCoordinator
    shares: ShareCoordinator
    share_sessions: ShareSessions
    producer_ids: ProducerIds
    transactions: TransactionCoordinator
    markers: Markers
    users: Users
    gate: Gate
    throttle: Throttle
    clock: Clock
    chance: Chance
    heavy: BlockingCalls  # For work that would hold the event loop for too long.
    others: Others = nobody_else  # Brokers of a cluster beside this one.
    permits: Permits | None = None  # Where coordinators of transactions may be others of them,
    led: LedShares | None = None  # and those of share groups.
    racks: Racks = field(default_factory=lambda: Racks(Lives, 0, "", are_many=False))  # Who is where.

    @property
    def led_shares(self) -> ShareCoordinator | LedShares:
        """Share groups in the partitions that are led here."""
        return self.led or self.shares
