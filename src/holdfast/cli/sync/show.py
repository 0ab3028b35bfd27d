"""How a sync is seen: a live table on a terminal, one JSON object a second for machines, metrics on a port."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from holdfast.cli.terminal.talk import give_json, tell
from holdfast.io.clock import Clock, SystemClock
from holdfast.sync.progress import SyncLook, TopicLook
from holdfast.units import counted

_RATE_S = 5.0  # Rates are means over the last so many seconds, about.


class SyncShow:
    """Called with a look at each direction, again and again."""

    def __init__(self, clock: Clock | None = None, *, json: bool = False) -> None:
        self.every_s = 1.0
        self._clock = clock or SystemClock()
        self._json = json
        self._seen: dict[str, list[tuple[float, int]]] = {}
        self._live: Any = None
        self.looks: list[SyncLook] = []

    def __call__(self, looks: list[SyncLook]) -> None:
        self.looks = looks
        if self._json:
            for each in looks:
                give_json(self.facts(each))
            sys.stdout.flush()
        elif self._live is not None:
            self._live.update(self._table(looks), refresh=True)

    def facts(self, look: SyncLook) -> dict[str, object]:
        """One direction as plain facts."""
        counts = look.counts
        return {
            "direction": look.direction,
            "state": look.state,
            "records": counts.records,
            "bytes": counts.bytes,
            "records_per_s": round(self.rate(look.direction, counts.records), 1),
            "lag_records": look.lag_records,
            "lag_ms": look.lag_ms,
            "echoes": counts.echoes,
            "lost": counts.lost,
            "again": counts.again,
            "expired": counts.expired,
            "set_aside": counts.set_aside,
            "held": look.held,
            "groups": look.groups,
            "checkpoints": look.saves,
            "last_checkpoint_ms": look.saved_at_ms,
            "errors": look.errors,
            "last_error": look.last_error,
        }

    def rate(self, name: str, count: int) -> float:
        """How many a second, of late."""
        now = self._clock.monotonic()
        seen = self._seen.setdefault(name, [(now, count)])
        if seen[-1][0] != now:
            seen.append((now, count))
        while len(seen) > 2 and now - seen[0][0] > _RATE_S:
            seen.pop(0)
        seconds = now - seen[0][0]
        return (count - seen[0][1]) / seconds if seconds else 0.0

    def _table(self, looks: list[SyncLook]) -> Any:
        from rich.table import Table

        table = Table("direction", "topic", "records", "records/s", "lag", "lag in time", "errors", box=None)
        for look in looks:
            for each in look.topics:
                table.add_row(look.direction, each.topic, *self._cells(look, each), str(look.errors))
            for where, why in look.held.items():
                table.add_row(look.direction, f"{where} waits", "", "", "", "", why)
            if look.state != "running":
                table.add_row(look.direction, look.state, "", "", "", "", look.last_error)
        return table

    def _cells(self, look: SyncLook, topic: TopicLook) -> tuple[str, ...]:
        rate = self.rate(f"{look.direction} {topic.topic}", topic.counts.records)
        return f"{topic.counts.records:,}", f"{rate:,.0f}", f"{topic.lag_records:,}", f"{topic.lag_ms / 1000:,.1f} s"

    def begin(self) -> None:
        """Draw, if somebody looks."""
        if self._json or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True), auto_refresh=False)
        self._live.start()

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()
        if not self._json:
            for each in self.looks:
                tell(_sentence(each))


def _sentence(look: SyncLook) -> str:
    counts = look.counts
    unreadable = f", {counts.unreadable:,} left out that nobody can read" if counts.unreadable else ""
    aside = f", {counts.set_aside:,} set aside" if counts.set_aside else ""
    held = f", {counted(len(look.held), 'partition')} {'waits' if len(look.held) == 1 else 'wait'}" if look.held else ""
    copied = f"{counted(counts.records, 'record', ',')} copied{unreadable}{aside}{held}"
    return f"{look.direction}: {copied}, {look.lag_records:,} to go, {counted(look.errors, 'error')}"


@contextmanager
def showing(*, json: bool, metrics: str | None) -> Iterator[SyncShow]:
    """A show for as long as the block lasts."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="holdfast: %(message)s")
    logging.getLogger("holdfast.sync").setLevel(logging.INFO)  # Topics that are new are told.
    show = SyncShow(json=json)
    from holdfast.cli.sync.metrics import scraped

    with scraped(show, metrics):
        try:
            yield show
        finally:
            show.end()
