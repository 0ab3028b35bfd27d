"""How each table is, left in the cluster's store for the console and for `holdfast tables list`."""

from __future__ import annotations

import threading
from typing import Any

from holdfast.catalog.store import Store
from holdfast.cluster.reports import ARCHIVE, leave_report, report_about
from holdfast.cluster.topic_table import TopicTable
from holdfast.io.clock import Clock, SystemClock
from holdfast.spark.jobs.archive.state import offsets_to_json
from holdfast.spark.jobs.tables.keep import KeptTable
from holdfast.units import counted

REPORT_S = 10.0  # Between two reports on a table, unless it fails or is well again.


class TableReports:
    """One process's reports. Several topics may share a place, and then a report."""

    def __init__(self, store: Store, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, str]] = {}  # By topic, when, and what was wrong.

    def leave(self, table: KeptTable) -> str | None:
        """Say how it is; why that could not be, if so."""
        now_s = self._clock.monotonic()
        with self._lock:
            at_s, error = self._left.get(table.wanted.topic, (-REPORT_S, ""))
            if error == table.error and now_s < at_s + REPORT_S:
                return None
            self._left[table.wanted.topic] = now_s, table.error
            return self._leave(table)

    def _leave(self, table: KeptTable) -> str | None:
        objects, place = self._store.open(), table.wanted.location
        before = report_about(objects, ARCHIVE, place)
        facts = dict(before.facts) if before is not None else {}
        if table.step is not None and table.follower is not None:
            homes = {where: each.home for where, each in table.follower.catalog.manifests.items()}
            ends = {homes[where]: each.end for where, each in table.step.done.ranges.items() if where in homes}
            facts["next"] = {**facts.get("next", {}), **offsets_to_json(ends)}
        facts["tables"] = {**facts.get("tables", {}), table.wanted.topic: self._facts(table)}
        said = table.error or f"{table.wanted.topic}: {counted(table.rows, 'row')} added since it was started"
        return leave_report(objects, ARCHIVE, said, is_good=not table.error, about=place, facts=facts)

    def _facts(self, table: KeptTable) -> dict[str, Any]:
        return {
            "freshness_ms": None if table.step is None else table.step.fresh_ms,
            "error": table.error,
            "failures": table.failures_ever,
            "at_ms": self._clock.now_ms(),
        }


def reported(store: Store, table: TopicTable) -> dict[str, Any]:
    """What was last said of a table; nothing, if nobody has."""
    found = report_about(store.open(), ARCHIVE, table.location)
    tables = {} if found is None else found.facts.get("tables", {})
    return dict(tables.get(table.topic, {}))
