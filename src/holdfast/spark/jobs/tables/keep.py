"""Many tables in one application: each looked at twice in the time that its records may be old, a few at the same time.

What goes wrong with a table is said once, counted, and tried again, later each time; the others go on. What a table has
reached is in the table itself: this process may be killed at any moment, and started again.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from holdfast.catalog.catalog import Catalog, catalog_in
from holdfast.catalog.store import Store
from holdfast.client.settings import ClientSettings
from holdfast.cluster.topic_table import TopicTable
from holdfast.errors import HoldfastError
from holdfast.io.clock import Clock, SystemClock
from holdfast.spark.jobs.archive.follow import TOPICS_S, FollowedStep, Follower
from holdfast.spark.jobs.archive.state import ArchiveTarget
from holdfast.spark.jobs.commit_log import Overtaken
from holdfast.spark.jobs.tables.wanted import WantedTables, decoding_of

AT_ONCE = 4
_AGAIN_S_MAX = 60.0

OpenTarget = Callable[[TopicTable, Catalog], ArchiveTarget]


@dataclass
class KeptTable:
    """One table, and how it is. Only who works on it changes it."""

    wanted: TopicTable
    next_s: float
    follower: Follower | None = None
    step: FollowedStep | None = None  # The last commit.
    rows: int = 0  # Added by this process.
    error: str = ""  # What is wrong with it now.
    failures: int = 0  # In a row,
    failures_ever: int = 0  # and all of them.
    upkeep_s: float = 0.0  # When its files were last looked after.

    def close(self) -> None:
        if self.follower is not None:
            self.follower.close()
            self.follower = None


OnChange = Callable[[KeptTable, FollowedStep | None], None]  # A commit; or what is wrong, or right again.


class TableKeeper:
    """All tables of a cluster. One thread calls `tick`; `on_change` is called by those that work."""

    def __init__(
        self,
        session: Any,
        store: Store,
        open_target: OpenTarget,
        on_change: OnChange,
        *,
        broker: ClientSettings | None = None,
        skip_expired: bool = False,
        registry: str = "",
        upkeep: Callable[[TopicTable, ArchiveTarget], None] | None = None,
        upkeep_s: float = 600.0,
        clock: Clock | None = None,
    ) -> None:
        self._session = session
        self._store = store
        self._open_target = open_target
        self._on_change = on_change
        self._broker = broker
        self._skip_expired = skip_expired
        self._registry = registry
        self._upkeep = upkeep
        self._upkeep_s = upkeep_s
        self._clock = clock or SystemClock()
        self._topics = WantedTables(store)
        self._looked_s: float | None = None
        self._wanted: dict[str, TopicTable] = {}
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="holdfast-table")
        self._under_way: dict[str, Future[None]] = {}
        self.tables: dict[str, KeptTable] = {}

    def tick(self) -> float:
        """Begin what is due; how many seconds there are until the next."""
        now_s = self._clock.monotonic()
        self._under_way = {name: each for name, each in self._under_way.items() if not each.done()}
        if self._looked_s is None or now_s >= self._looked_s + TOPICS_S:
            self._wanted = self._topics.look()
            self._looked_s = now_s
        self._reconcile(now_s)
        for name, table in self.tables.items():
            if table.next_s <= now_s and name not in self._under_way:
                self._under_way[name] = self._pool.submit(self._work, table)
        idle = [table.next_s for name, table in self.tables.items() if name not in self._under_way]
        return max(0.05, min([*idle, now_s + 1.0]) - now_s)

    def finish(self) -> None:
        """Wait for what is under way."""
        wait(self._under_way.values())

    def close(self) -> None:
        self._pool.shutdown()
        for table in self.tables.values():
            table.close()

    def _reconcile(self, now_s: float) -> None:
        """Take up what is a table now, and drop what is none any more, or another one: behind its step, if it has one
        under way."""
        for name, table in list(self.tables.items()):
            if self._wanted.get(name) != table.wanted and name not in self._under_way:
                table.close()
                del self.tables[name]
        for name, each in self._wanted.items():
            self.tables.setdefault(name, KeptTable(each, now_s, upkeep_s=now_s))

    def _work(self, table: KeptTable) -> None:
        pause_s = table.wanted.freshness_ms / 2000
        started_s = self._clock.monotonic()
        try:
            step = self._step(table)
        except Overtaken:
            pause_s = 0.0
        except Exception as failure:  # Whatever it is, it must not stop the others.
            table.close()
            table.failures += 1
            table.failures_ever += 1
            pause_s = max(pause_s, min(_AGAIN_S_MAX, 2.0 ** min(table.failures, 10)))
            self._now_is(table, _sentence(failure), None)
        else:
            table.failures = 0
            if step is not None:
                table.step = step
                table.rows += step.done.rows()
            self._now_is(table, "", step)
        finally:
            table.next_s = started_s + pause_s

    def _now_is(self, table: KeptTable, error: str, step: FollowedStep | None) -> None:
        is_news = bool(error) != bool(table.error)
        table.error = error
        if is_news or step is not None:
            self._on_change(table, step)

    def _step(self, table: KeptTable) -> FollowedStep | None:
        wanted = table.wanted
        if table.follower is None:
            table.follower = Follower(
                self._session,
                catalog_in(self._store, topics=[wanted.topic], rounds=self._broker is None),
                lambda seen: self._open_target(wanted, seen),
                decoding=lambda: decoding_of(wanted, self._registry),
                skip_expired=self._skip_expired,
                broker=self._broker,
                clock=self._clock,
            )
        step = table.follower.round()
        now_s = self._clock.monotonic()
        if self._upkeep is not None and self._upkeep_s and now_s >= table.upkeep_s + self._upkeep_s:
            table.upkeep_s = now_s
            self._upkeep(wanted, self._open_target(wanted, table.follower.catalog))
        return step


def _sentence(failure: Exception) -> str:
    if isinstance(failure, HoldfastError):
        return str(failure)
    said = next((line.strip() for line in str(failure).splitlines() if line.strip()), "it does not say why")
    return f"{type(failure).__name__}: {said}"
