"""Asks again and again for the marks of all partitions and the offsets of all groups, by our own client."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from tests.torture.ground import PARTITIONS, Ground, Topic
from tests.torture.history import History

from holdfast.client import EARLIEST, LATEST, Client
from holdfast.errors import HoldfastError


@dataclass(frozen=True)
class Looker:
    """Looks until readers are told to stop."""

    groups: tuple[str, ...]
    name: str = "looker"

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        with ground.client() as client:
            while not ground.reading.wait(0.2):
                look_at_marks(history, client, ground.topics)
                look_at_groups(history, client, self.groups)
            look_at_groups(history, client, self.groups)
        history.close()


def marks(client: Client, topic: str) -> list[tuple[int, int]] | None:
    """The ends of all partitions of a topic, or None when nobody answers."""
    pairs = [(topic, partition) for partition in range(PARTITIONS)]
    try:
        lows = client.list_offsets(dict.fromkeys(pairs, EARLIEST))
        highs = client.list_offsets(dict.fromkeys(pairs, LATEST))
    except HoldfastError:
        return None
    return [(lows[pair].offset, highs[pair].offset) for pair in pairs]  # type: ignore[index]


def look_at_marks(history: History, client: Client, topics: Iterable[Topic], *, final: bool = False) -> None:
    for topic in topics:
        asked = time.monotonic()
        for partition, (low, high) in enumerate(marks(client, topic.name) or []):
            facts = {"topic": topic.name, "partition": partition, "low": low, "high": high}
            history.ok("marks", asked=asked, **facts, **({"final": True} if final else {}))


def look_at_groups(history: History, client: Client, groups: tuple[str, ...]) -> None:
    for group in groups:
        history.invoke("group", group=group, polled=True, offsets=[])
        try:
            found = client.fetch_offsets(group)
        except HoldfastError as failure:
            history.fail("group", group=group, polled=True, error=type(failure).__name__)
            continue
        offsets = [[topic, partition, each.offset] for (topic, partition), each in found.items()]
        history.ok("group", group=group, polled=True, offsets=offsets)
