"""The settings of a sync."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.sync.topics import EVERYTHING, matching
from holdfast.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSettings:
    """How a sync behaves."""

    patterns: tuple[str, ...] = EVERYTHING  # Topic names, with * and ?.
    both: bool = False
    once: bool = False  # Stop when all is copied that was there at the start.
    own_only: bool = False  # Copy only what was produced at the source itself.
    last_writer_wins: bool = False
    set_aside: str | None = None  # The topic of the target for records that it refuses; None: their partition waits.
    configs: bool = True  # Follow changes of topic configs.
    acls: bool = False  # Follow changes of the rules that name a topic.
    groups: bool = True  # Translate the offsets of consumer groups.
    workers: int = 4  # Threads for each direction.
    save_interval_s: float = 5.0
    refresh_s: float = 5.0  # How often to look for new topics, partitions and limits.
    renew_s: float = 43_200.0  # How often a writer is fenced anew: brokers forget silent producers after a day.
    start_s: float | None = None  # How long to wait at the start for a broker that is away; None: for ever.
    give_up_s: float | None = None  # How long to try without any progress; None: for ever.

    def __post_init__(self) -> None:
        if self.workers < 1 or min(self.save_interval_s, self.refresh_s, self.renew_s) <= 0:
            raise ValueError("workers must be at least 1, and intervals more than 0 seconds")

    def chosen(self, topics: Iterable[str]) -> list[str]:
        """The topics to copy: what was set aside stays where it is."""
        return [name for name in matching(topics, self.patterns) if name != self.set_aside]

    @property
    def aside(self) -> TopicPartition | None:
        """Where records go that the target refuses."""
        return None if self.set_aside is None else TopicPartition(self.set_aside, 0)
