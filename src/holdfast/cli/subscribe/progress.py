"""How a subscription is doing: a bar for people, a JSON object a second for machines, both on stderr."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from holdfast.errors import Rejected
from holdfast.io.clock import Clock
from holdfast.subscribe import Stats

PERIOD_S = 1.0


class SubscribeProgress:
    """Shows nothing: lines on a terminal are progress enough."""

    def __init__(self, stats: Stats, clock: Clock) -> None:
        self._stats = stats
        self._clock = clock
        self._shown = (clock.monotonic(), 0)
        self.given = 0  # Events printed.

    def facts(self) -> dict[str, Any]:
        """Where it stands now; the rate is that since the last call."""
        now, before = self._clock.monotonic(), self._shown
        self._shown = (now, self.given)
        passed = now - before[0]
        return {
            "events": self.given,
            "events_per_s": round((self.given - before[1]) / passed) if passed > 0 else 0,
            "lag_records": self._stats.lag_records,
            "lag_ms": self._stats.lag_ms(self._clock.now_ms()),
            "late": self._stats.late,
            "skipped": self._stats.skipped,
            "errors": self._stats.errors,
            "live": self._stats.live,
        }

    async def run(self) -> None:
        """Until it is cancelled."""


class JsonProgress(SubscribeProgress):
    """One object a second."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            print(json.dumps(self.facts()), file=sys.stderr, flush=True)


class BarProgress(SubscribeProgress):
    """How much of what is there was read, how fast, and how far behind."""

    async def run(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(), TextColumn("{task.description}"))
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None)
            while True:
                facts = self.facts()
                total = self.given + facts["lag_records"]
                bar.update(task, completed=self.given, total=total or None, description=_sentence(facts))
                await asyncio.sleep(PERIOD_S)


def _sentence(facts: dict[str, Any]) -> str:
    behind = f"{facts['lag_records']:,} records, {facts['lag_ms'] / 1000:,.1f} s behind"
    told = f"{facts['events']:,} events, {facts['events_per_s']:,}/s, {'live' if facts['live'] else behind}"
    return f"{told}, {facts['errors']} errors" if facts["errors"] else told


def progress_for(how: str, stats: Stats, clock: Clock) -> SubscribeProgress:
    """The one that was asked for, or that suits where the lines go."""
    if how == "json":
        return JsonProgress(stats, clock)
    if how == "auto" and sys.stderr.isatty() and not sys.stdout.isatty():
        return BarProgress(stats, clock)
    if how not in ("auto", "none"):
        raise Rejected(f"--progress {how} is none of: auto, json, none")
    return SubscribeProgress(stats, clock)
