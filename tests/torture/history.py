"""What one client saw, as JSON lines that are only ever appended: the checker reads nothing else.

A line is an event:

    at      seconds of the machine's monotonic clock, which all processes share
    who     the client
    kind    invoke (it is about to ask), ok (it was told yes), fail (it was told no), info (nobody was asked)
    op      what it is about; the other fields are the op's facts, listed in `facts`

An ask without an answer has only its `invoke`: it may or may not have been done.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

Event: TypeAlias = dict[str, Any]


class History:
    """One client's file. Every line is handed to the operating system at once: a crash of the client keeps it."""

    def __init__(self, folder: Path, who: str) -> None:
        self.who = who
        self._file = (folder / f"{who}.jsonl").open("a", buffering=1)
        self._lock = threading.Lock()  # Delivery reports come from a client's own threads.
        self.ok_at = 0.0  # When it was last told yes.

    def invoke(self, op: str, **facts: Any) -> float:
        return self._add("invoke", op, facts)

    def ok(self, op: str, **facts: Any) -> float:
        self.ok_at = self._add("ok", op, facts)
        return self.ok_at

    def fail(self, op: str, **facts: Any) -> float:
        return self._add("fail", op, facts)

    def info(self, op: str, **facts: Any) -> float:
        return self._add("info", op, facts)

    def _add(self, kind: str, op: str, facts: dict[str, Any]) -> float:
        with self._lock:
            at = time.monotonic()
            self._file.write(json.dumps({"at": at, "who": self.who, "kind": kind, "op": op, **facts}) + "\n")
        return at

    def close(self) -> None:
        self._file.close()


def read_histories(folder: Path) -> list[Event]:
    """All events of all clients, by time."""
    return in_time(event for path in sorted(folder.glob("*.jsonl")) for event in _lines(path))


def in_time(events: Iterable[Event]) -> list[Event]:
    return sorted(events, key=lambda event: event["at"])


def _lines(path: Path) -> Iterator[Event]:
    with path.open() as lines:
        for line in lines:
            if line.endswith("\n"):  # A client that was ended while it wrote leaves half a line.
                yield json.loads(line)
