"""What `holdfast serve` times and counts for those who look: the metrics and the console."""

from __future__ import annotations

from pathlib import Path

from holdfast.io.clock import SystemClock
from holdfast.io.disk.timed import TimedDirectory
from holdfast.io.objects import Objects
from holdfast.io.objects.timed import StoreTimes, TimedObjects
from holdfast.measure import Histogram, RecentRounds, SubscriptionCounts, Traffic


class Timings:
    """Made before the parts that are timed; nobody pays for it who does not look."""

    def __init__(self, *, keeps_rounds: bool) -> None:
        self._clock = SystemClock()
        self._keeps_rounds = keeps_rounds
        self.syncs = Histogram()
        self.rounds = RecentRounds()
        self.store = StoreTimes()
        self.traffic: Traffic = {}
        self.subscriptions = SubscriptionCounts()

    def directory(self, path: Path) -> TimedDirectory:
        """The write-ahead log's directory, with its fsyncs timed."""
        return TimedDirectory(path, self._clock, self.syncs, self.rounds if self._keeps_rounds else None)

    def objects(self, inner: Objects) -> Objects:
        """The store, with its calls timed."""
        return TimedObjects(inner, self._clock, self.store)
