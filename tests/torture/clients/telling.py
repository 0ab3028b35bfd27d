"""What a client of librdkafka tells of itself, so that one that stands still says what it waits for.

Its statistics, and not its debug log: with that, librdkafka 2.16 reads names of connections that it has given up, and a
client of Python fails in the middle of a call because they are no text any more.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_STATISTICS_MS = 1000
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


class Telling:
    """The newest statistics of one client; `settings` have them come here."""

    def __init__(self, client: str) -> None:
        self._client = client
        self._statistics: dict[str, Any] = {}

    @property
    def settings(self) -> dict[str, Any]:
        return {"statistics.interval.ms": _STATISTICS_MS, "stats_cb": self._told}

    def _told(self, statistics: str) -> None:
        self._statistics = json.loads(statistics)

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
