"""The driver's looks at a cluster, one after the other. While nothing moves they are few, and small.

Without a broker the store is all there is to look at. While something is new each trigger looks at all of it. Once
nothing is, partitions take turns: each is looked at once in ten seconds, by one small read, and as soon as one of them
has moved, all are. Where the write-ahead log is in the store, a trigger asks for the next round of each broker, too:
one small read. With a broker, a trigger asks it where partitions end, over a connection that stays open, and the
store only when that has moved. In both cases topics are looked for every ten seconds, by one small read; and everything
every ten minutes, for what nobody tells: a log that starts later, say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.client.client import Client
from holdfast.errors import Unavailable
from holdfast.io.clock import Clock, SystemClock
from holdfast.spark.source.options import ReadOptions
from holdfast.spark.source.view import Ends, View, ends_of, first_view, next_view
from holdfast.types import TopicPartition

ROUND_S = 10.0  # In which every partition has its turn, where nothing is new.
TOPICS_S = 10.0  # Between two looks for topics.
WHOLE_S = 600.0  # Between two looks at everything; a number that was used and deleted looks free after half an hour.


class Turns:
    """The partitions of a topic, one after the other, each once in a round."""

    def __init__(self, partitions: Sequence[TopicPartition], begun_s: float) -> None:
        self._partitions = partitions
        self._begun_s = begun_s
        self._taken = 0

    def due(self, now_s: float) -> list[TopicPartition]:
        """Whose turn it is: one at most, unless triggers are so rare that a round would take longer."""
        reached = int((now_s - self._begun_s) * len(self._partitions) / ROUND_S)
        first, self._taken = max(self._taken, reached - len(self._partitions)), max(self._taken, reached)
        return [self._partitions[number % len(self._partitions)] for number in range(first, self._taken)]


def turns_of(view: View, now_s: float) -> dict[str, Turns]:
    """Turns for each topic of a view."""
    topics: dict[str, list[TopicPartition]] = {}
    for where in view.marks:
        topics.setdefault(where.topic, []).append(where)
    return {topic: Turns(each, now_s) for topic, each in topics.items()}


class Looks:
    """What one stream has seen last."""

    def __init__(
        self, options: ReadOptions, clock: Clock | None = None, begin: Callable[[ReadOptions], View] = first_view
    ) -> None:
        self._options = options
        self._clock = clock or SystemClock()
        self._begin = begin
        self._looked_s = 0.0  # When everything was seen.
        self._topics_s = 0.0
        self._turns: dict[str, Turns] = {}
        self._is_idle = False  # The last look has found nothing new.
        self._client: Client | None = None
        self._ends: Ends = {}
        self.view: View | None = None

    def anew(self) -> View:
        """Look now."""
        before = self.view
        self._looked_s = self._topics_s = self._clock.monotonic()
        view = self._begin(self._options) if before is None else next_view(before, self._options)
        self._ends = {where: view.marks[where].end for where in view.marks}
        self._is_idle = before is not None and before.marks == view.marks
        self._turns = turns_of(view, self._looked_s)
        self.view = view
        return view

    def for_trigger(self) -> View:
        """The last look, if nothing has moved since as far as a cheap question tells; otherwise a new one."""
        view = self.view
        now_s = self._clock.monotonic()
        if view is None or now_s >= self._looked_s + WHOLE_S or self._topics_moved(view, now_s):
            return self.anew()
        if self._options.kafka is not None:
            return view if self._told() == self._ends else self.anew()
        if not self._is_idle:
            return self.anew()
        due = [where for each in self._turns.values() for where in each.due(now_s)]
        has_moved = view.catalog.rounds_have_moved() or view.catalog.have_moved(due)
        return self.anew() if has_moved else view

    def _topics_moved(self, view: View, now_s: float) -> bool:
        """Whether there may be other topics or partitions. Those that are not made yet are looked for with the rest."""
        if now_s < self._topics_s + TOPICS_S:
            return False
        self._topics_s = now_s
        return bool(view.catalog.missing) or view.catalog.topics_have_moved()

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
