"""What a client of librdkafka tells of itself, so that one that stands still says what it waits for."""

from __future__ import annotations

import json
import logging
from collections import deque
from pathlib import Path
from typing import Any

_LINES_MAX = 5_000
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


class Telling(logging.Handler):
    """The newest statistics of one client, and its last words; `settings` have them come here."""

    def __init__(self, client: str) -> None:
        super().__init__()
        self._client = client
        self._lines: deque[str] = deque(maxlen=_LINES_MAX)
        self._statistics: dict[str, Any] = {}
        self._logger = logging.Logger(f"torture.librdkafka.{client}")
        self._logger.addHandler(self)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "logger": self._logger,
            "log_level": 7,
            "debug": "topic,metadata,broker,cgrp",  # Who leads, who is where, what becomes of connections.
            "statistics.interval.ms": _STATISTICS_MS,
            "stats_cb": self._told,
        }

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(f"{record.created:.3f} {record.getMessage()}")

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
        (folder / f"{self._client}.log").write_text("\n".join(self._lines))
