"""`holdfast tables run`: until somebody says that it is enough."""

from __future__ import annotations

import sys
import threading
from typing import Any

from holdfast.catalog.store import Store
from holdfast.cli.archive.show import sum_of
from holdfast.cli.terminal.stopping import Stopping
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.client import ClientSettings
from holdfast.errors import Unavailable
from holdfast.spark.jobs.archive.follow import FollowedStep
from holdfast.spark.jobs.tables.keep import KeptTable, TableKeeper
from holdfast.spark.jobs.tables.report import TableReports
from holdfast.spark.jobs.tables.upkeep import Upkeep, UpkeepSettings


def keep_tables(
    session: Any,
    store: Store,
    targets: Any,
    upkeep: UpkeepSettings,
    *,
    broker: ClientSettings | None,
    skip_expired: bool,
    registry: str,
    as_json: bool,
) -> None:
    """One line for each commit, and for what goes wrong or is well again."""
    stopping, reports, lock = Stopping(), TableReports(store), threading.Lock()

    def changed(table: KeptTable, step: FollowedStep | None) -> None:
        reports.leave(table)
        with lock:
            _show(table, step, as_json=as_json)

    keeper = TableKeeper(
        session,
        store,
        targets,
        changed,
        broker=broker,
        skip_expired=skip_expired,
        registry=registry,
        upkeep=Upkeep(upkeep),
        upkeep_s=upkeep.every_s,
    )
    is_away = False
    try:
        while True:
            stopping.listen()
            try:
                pause_s = keeper.tick()
                is_away = False
            except Unavailable as failure:  # The store of the topics themselves.
                if not is_away:
                    tell(f"holdfast: {failure}; it is tried again until it goes")
                is_away, pause_s = True, 1.0
            if stopping.wait(pause_s):
                break
    finally:
        keeper.close()


def _show(table: KeptTable, step: FollowedStep | None, *, as_json: bool) -> None:
    topic = table.wanted.topic
    if step is None:
        tell(
            f"holdfast: {topic}: {table.error}; it is tried again"
            if table.error
            else f"holdfast: {topic}: it goes again"
        )
        return
    if as_json:
        facts = {"topic": topic, "location": table.wanted.location, "rows": step.done.rows()}
        facts |= {"dead_letters": step.done.dead_letters, "freshness_ms": step.fresh_ms}
        give_json(facts | {"seconds": round(step.seconds, 3)})
    else:
        age = "" if step.fresh_ms is None else f", the newest is {step.fresh_ms} ms old"
        print(f"{topic} to {table.wanted.location}: {sum_of(step.done, step.seconds)}{age}")
    sys.stdout.flush()
