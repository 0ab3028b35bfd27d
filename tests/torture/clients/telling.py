"""What a client of librdkafka tells of itself, so that one that stands still says what it waits for.

Its statistics, and not its debug log: with that, librdkafka 2.16 reads names of connections that it has given up, and a
client of Python fails in the middle of a call because they are no text any more.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer
from tests.torture.history import History

_STATISTICS_MS = 1000
_DEADLOCKED_S = 45.0
_OF_PARTITION = (
    "fetch_state",
    "leader",
    "leader_epoch",
    "next_offset",
    "app_offset",
    "query_offset",
    "hi_offset",
    "ls_offset",
    "fetchq_cnt",
    "xmit_msgq_cnt",
)
_OF_BROKER = ("nodeid", "source", "state", "stateage", "outbuf_cnt", "waitresp_cnt", "connects", "disconnects")
_DEADLOCKED: list[Consumer] = []


class Telling:
    """The newest statistics of one client; `settings` have them come here."""

    def __init__(self, client: str) -> None:
        self._client = client
        self._statistics: dict[str, Any] = {}
        self._told_at = time.monotonic()

    @property
    def settings(self) -> dict[str, Any]:
        return {"statistics.interval.ms": _STATISTICS_MS, "stats_cb": self._told}

    def _told(self, statistics: str) -> None:
        self._statistics = json.loads(statistics)
        self._told_at = time.monotonic()

    @property
    def is_deadlocked(self) -> bool:
        """Whether it tells nothing any more, though it is polled all the time: its own threads wait for each other.

        librdkafka 2.16 does that: a connection that fails holds the lock of the client and wants that of a partition,
        and an answer to OffsetForLeaderEpoch has them the other way round. No broker can wake it up.
        """
        return time.monotonic() - self._told_at > _DEADLOCKED_S

    def let_go(self, consumer: Consumer, history: History) -> None:
        """Close it; one that would never come back is left as it is, which is told."""
        if self.is_deadlocked:
            _DEADLOCKED.append(consumer)  # To collect it would wait for it, too.
            history.info("deadlocked", client=self._client)
        else:
            consumer.close()

    @property
    def brokers(self) -> dict[str, Any]:
        """How its connections are."""
        return {
            name: {key: each.get(key) for key in _OF_BROKER}
            for name, each in self._statistics.get("brokers", {}).items()
        }

    def of(self, topic: str, partition: int) -> dict[str, Any]:
        """What it waits for, of one partition."""
        found = self._statistics.get("topics", {}).get(topic, {}).get("partitions", {}).get(str(partition), {})
        return {key: found.get(key) for key in _OF_PARTITION}

    def write(self, folder: Path) -> None:
        """All of it, for whoever looks closer."""
        (folder / f"{self._client}.statistics.json").write_text(json.dumps(self._statistics, indent=1))
