"""What every client of a run is given: where the broker is, where to write its history, when to stop."""

from __future__ import annotations

import logging
import random
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.torture.clients.telling import Telling
from tests.torture.history import History
from tests.torture.secured import SecuredListener
from tests.torture.store import DirectoryStore

from holdfast.client import Client

# Clients must outlast every fault: what they were not told of is checked as "may be there or not".
QUIET: dict[str, Any] = {
    "log_level": 0,
    "logger": logging.getLogger("torture.librdkafka"),  # What is fatal is said at level 0, too.
    "socket.connection.setup.timeout.ms": 5000,
    "socket.timeout.ms": 10_000,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 300,
    "topic.metadata.refresh.interval.ms": 2000,
}
QUIET["logger"].setLevel(logging.CRITICAL + 1)
PARTITIONS = 2
READS_MAX = 500  # Records in one line of a history.


@dataclass(frozen=True)
class Topic:
    name: str
    like: str = "kept"
    configs: dict[str, str] = field(default_factory=dict)
    partitions: int = PARTITIONS


ONE = Topic("one")  # Idempotent and plain producers.
TXN = Topic("txn")  # Transactional producers.
COPIES = Topic("copies")  # Copied from `one`, exactly once.
SHRINKING = Topic("shrinking", "shrinking", {"retention.bytes": "100000"})
CUT = Topic("cut", "shrinking")  # DeleteRecords.
COMPACTED = Topic("compacted", "compacted", {"cleanup.policy": "compact"})
LIGHT = Topic("light", "memory", {"holdfast.durability": "memory"})
PHOENIX = Topic("phoenix", "reborn")
SMALL = Topic("small", "kept", {"max.message.bytes": "6000"})  # Java's producer splits its batches, and sends again.
TOPICS = (ONE, TXN, COPIES, SHRINKING, CUT, COMPACTED, LIGHT, PHOENIX, SMALL)
MANY = "many"  # A topic of many partitions, where a run has one.
KEPT = tuple(topic for topic in TOPICS if topic.like == "kept")


@dataclass
class Ground:
    """One run, as its clients see it."""

    bootstrap: str
    subscribers: str  # The address of the gRPC port.
    folder: Path
    seed: int
    store: DirectoryStore | None  # Several brokers have a way to theirs each.
    topics: tuple[Topic, ...] = TOPICS
    secured: SecuredListener | None = None
    histories: dict[str, History] = field(default_factory=dict)  # The newest of each client.
    telling: dict[str, Telling] = field(default_factory=dict)  # Of readers, by their names.
    writing: threading.Event = field(default_factory=threading.Event)  # Set: stop writing.
    reading: threading.Event = field(default_factory=threading.Event)  # Set: stop reading.
    reached: dict[tuple[str, str, int], int] = field(default_factory=dict)  # Reader, topic, partition → last offset.

    def history(self, who: str) -> History:
        made = self.histories[who] = History(self.folder, who)
        return made

    def partitions(self, topic: str) -> int:
        return next((each.partitions for each in self.topics if each.name == topic), PARTITIONS)

    def chance(self, who: str) -> random.Random:
        return random.Random(f"{who} {self.seed}")

    @property
    def password(self) -> str | None:
        """Of the user of the protected listener."""
        return None if self.secured is None else self.secured.password

    def client(self) -> Client:
        """Our own client, which gives up soon: whoever asks again and again needs no patience."""
        return Client(self.bootstrap, timeout_s=5.0, patience_s=5.0)

    def settings(self, **more: Any) -> dict[str, Any]:
        """Of a client of confluent-kafka; its names have dots."""
        return {**QUIET, "bootstrap.servers": self.bootstrap, **{key.replace("_", "."): more[key] for key in more}}
