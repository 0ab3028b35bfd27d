"""Records that a reader is handed, gathered into few lines of its history."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from tests.torture.ground import Ground
from tests.torture.history import History


def short(value: bytes) -> str:
    """A value as it is written down: of its padding only how long it is."""
    parts = value.decode(errors="replace").split(":", 3)
    return ":".join([*parts[:3], *(str(len(padding)) for padding in parts[3:])])


class Stream(NamedTuple):
    """Reads that follow one another: those of one assignment of one partition."""

    name: str
    since: float


class Seeing:
    """What one reader sees. `begin` starts a new stream of a partition; `write` puts down what came since."""

    def __init__(self, ground: Ground, history: History, *, committed: bool, group: str | None = None) -> None:
        self._ground = ground
        self._history = history
        self._facts: dict[str, Any] = {"committed": committed} | ({"group": group} if group else {})
        self._streams: dict[tuple[str, int], Stream] = {}
        self._new: dict[tuple[str, int, Stream], tuple[list[int], list[str]]] = {}
        self._count = 0

    def begin(self, topic: str, partition: int) -> None:
        self._count += 1
        self._streams[topic, partition] = Stream(f"{self._history.who}/{self._count}", time.monotonic())

    def add(self, topic: str, partition: int, offset: int, value: bytes | None) -> None:
        if (topic, partition) not in self._streams:
            self.begin(topic, partition)
        key = topic, partition, self._streams[topic, partition]
        offsets, values = self._new.setdefault(key, ([], []))
        offsets.append(offset)
        values.append(short(value or b""))

    def write(self, **more: Any) -> None:
        new, self._new = self._new, {}
        for (topic, partition, stream), (offsets, values) in new.items():
            place = {"topic": topic, "partition": partition, "stream": stream.name, "since": stream.since}
            self._history.ok("read", offsets=offsets, values=values, **place, **self._facts, **more)
            who = self._facts.get("group", self._history.who)
            key = who, topic, partition
            self._ground.reached[key] = max(self._ground.reached.get(key, -1), offsets[-1])
