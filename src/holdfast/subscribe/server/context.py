"""What all subscriptions of a server share."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.io.calls import BlockingCalls
from holdfast.io.clock import Clock
from holdfast.measure import SubscriptionCounts
from holdfast.subscribe.merge.memory import Memory
from holdfast.subscribe.server.gate import OpenGate, ReaderGate
from holdfast.subscribe.server.leaders import Leaders
from holdfast.subscribe.server.live_pieces import LivePieces
from holdfast.subscribe.server.topics import Catalogue
from holdfast.subscribe.settings import SubscribeSettings


@dataclass(frozen=True, slots=True)
class ServerContext:
    """What all subscriptions of a server share."""

    catalogue: Catalogue
    cluster_id: str
    store_url: str
    calls: BlockingCalls
    clock: Clock
    settings: SubscribeSettings
    counts: SubscriptionCounts = field(default_factory=SubscriptionCounts)
    gate: ReaderGate = field(default_factory=OpenGate)
    memory: Memory = field(init=False)
    pieces: LivePieces = field(default_factory=LivePieces)
    leaders: Leaders | None = None  # Where each partition has its leader among several brokers.

    def __post_init__(self) -> None:
        object.__setattr__(self, "memory", Memory(self.settings.memory_size_max))
