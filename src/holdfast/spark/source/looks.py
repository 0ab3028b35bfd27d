"""The driver's looks at a cluster, one after the other. While nothing moves they are few, and small.

Without a broker the store is all there is to look at: one small read for the topics and one for each partition, once in
a second at most while nothing is new. With one, a trigger asks it where partitions end, over a connection that stays
open, and the store only when that has moved, or once in a while for what brokers do not tell.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.client.client import Client
from holdfast.errors import Unavailable
from holdfast.io.clock import Clock, SystemClock
from holdfast.spark.source.options import ReadOptions
from holdfast.spark.source.view import Ends, View, ends_of, first_view, next_view

STORE_S = 1.0  # Between two looks at a store in which nothing is new.
TOPICS_S = 10.0  # The same where a broker says how far partitions are.


class Looks:
    """What one stream has seen last."""

    def __init__(
        self, options: ReadOptions, clock: Clock | None = None, begin: Callable[[ReadOptions], View] = first_view
    ) -> None:
        self._options = options
        self._clock = clock or SystemClock()
        self._begin = begin
        self._looked_s = 0.0
        self._is_idle = False  # The last look has found nothing new.
        self._client: Client | None = None
        self._ends: Ends = {}
        self.view: View | None = None

    def anew(self) -> View:
        """Look now."""
        before = self.view
        self._looked_s = self._clock.monotonic()
        view = self._begin(self._options) if before is None else next_view(before, self._options)
        self._ends = {where: view.marks[where].end for where in view.marks}
        self._is_idle = before is not None and before.marks == view.marks
        self.view = view
        return view

    def for_trigger(self) -> View:
        """The last look, if nothing has moved since as far as a cheap question tells; otherwise a new one."""
        view = self.view
        pause_s = STORE_S if self._options.kafka is None else TOPICS_S
        if view is None or self._clock.monotonic() >= self._looked_s + pause_s:
            return self.anew()
        if self._options.kafka is None:
            return view if self._is_idle else self.anew()
        return view if self._told() == self._ends else self.anew()

    def _told(self) -> Ends | None:
        """Where partitions end, as the broker says; None if it does not."""
        assert self.view is not None
        assert self._options.kafka is not None
        if self._client is None:
            self._client = Client(self._options.kafka, "holdfast-spark", patience_s=0.0)
        try:
            return ends_of(self._client, self.view, committed=self._options.committed)
        except Unavailable:
            self.close()
            return None

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
