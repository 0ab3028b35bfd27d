"""An archive that is kept fresh: the same step again and again, and a look that costs next to nothing in between.

What the archive has reached is remembered, so that a round without news asks nothing of the target. Without a broker it
is one small read for each partition; with one, a single question to the broker, and none to the store. Topics are
looked at for new partitions once in a while.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from holdfast.catalog.catalog import Catalog
from holdfast.client.client import Client
from holdfast.client.offsets import LATEST
from holdfast.client.settings import ClientSettings
from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.clock import Clock, SystemClock
from holdfast.spark.jobs.archive.archive import Archived, archive
from holdfast.spark.jobs.archive.state import ArchiveTarget, Offsets
from holdfast.spark.jobs.archive.values import ValueDecoding
from holdfast.spark.jobs.run import JobFailed
from holdfast.types import TopicPartition

TOPICS_S = 10.0  # Between two looks for new partitions.


class FollowedStep(NamedTuple):
    """One commit."""

    done: Archived
    seconds: float  # That it took.
    fresh_ms: int | None  # From the newest record's timestamp to its commit; None where no record was added.


class Follower:
    """One archive of some topics."""

    def __init__(
        self,
        session: Any,
        catalog: Catalog,
        target_of: Callable[[Catalog], ArchiveTarget],
        *,
        decoding: Callable[[], ValueDecoding | None] = lambda: None,
        skip_expired: bool = False,
        broker: ClientSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.catalog = catalog
        self._session = session
        self._target_of = target_of
        self._decoding = decoding
        self._skip_expired = skip_expired
        self._broker = broker
        self._clock = clock or SystemClock()
        self._names: Sequence[str] = sorted(catalog.topics)
        self._topics_at = self._clock.monotonic() + TOPICS_S
        self._reached: Offsets | None = None  # None: whatever the target says.
        self._client: Client | None = None

    def round(self) -> FollowedStep | None:
        """Archive what is new; None if nothing is. After an error the next round looks at everything."""
        reached, self._reached = self._reached, None
        try:
            is_new = self._is_new(reached)
        except HoldfastError:
            self.close()  # Who is away may come back elsewhere.
            raise
        if not is_new:
            self._reached = reached
            return None
        started = self._clock.monotonic()
        target = self._target_of(self.catalog)
        decoding = self._decoding()  # Behind the look: who writes by a new schema has registered it before.
        done = archive(self._session, self.catalog, target, decoding=decoding, skip_expired=self._skip_expired)
        now_ms = self._clock.now_ms()
        self._reached = _ends(self.catalog)
        if not done.is_commit:
            return None
        fresh_ms = None if done.newest_ms is None else now_ms - done.newest_ms
        return FollowedStep(done, self._clock.monotonic() - started, fresh_ms)

    def _is_new(self, reached: Offsets | None) -> bool:
        """Look, as cheaply as it can be done, and bring into the store what a broker has."""
        topics = reached is None or self._clock.monotonic() >= self._topics_at
        if self._broker is not None:
            moved = self._moved(reached)
            if not moved and not topics:
                return False
            for each in sorted(moved):
                self._asked().flush_topic(each)
        self.catalog = self.catalog.refresh(topics=topics)
        if topics:
            self._topics_at = self._clock.monotonic() + TOPICS_S
            for name in self._names:
                self.catalog.manifest(TopicPartition(name, 0))  # Raises where the topic is gone.
        return reached is None or bool(self.catalog.missing) or _ends(self.catalog) != reached

    def _moved(self, reached: Offsets | None) -> set[str]:
        """The topics that end elsewhere than the archive does, as the broker says."""
        if reached is None:
            return set(self._names)
        homes = {where: each.home for where, each in self.catalog.manifests.items()}
        told = self._asked().list_offsets(dict.fromkeys(homes, LATEST), committed=True)
        return {where.topic for where, each in told.items() if each.offset != reached.get(homes[where])}

    def _asked(self) -> Client:
        assert self._broker is not None
        if self._client is None:
            self._client = Client(self._broker, "holdfast-archive", patience_s=0.0)
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def _ends(catalog: Catalog) -> Offsets:
    return {each.home: catalog.readable(where).end for where, each in catalog.manifests.items()}


def is_passing(failure: HoldfastError) -> bool:
    """Whether it may be better the next time, also where an executor has said so."""
    kind = failure.kind if isinstance(failure, JobFailed) else type(failure).__name__
    return isinstance(failure, Unavailable) or kind in _passing(Unavailable)


def _passing(kind: type[HoldfastError]) -> set[str]:
    return {kind.__name__}.union(*(_passing(each) for each in kind.__subclasses__()))
