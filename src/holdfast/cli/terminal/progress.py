"""How far a job is: a bar by segments and bytes on a terminal, and the same as figures for a plot."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from holdfast.io.clock import Clock, SystemClock
from holdfast.spark.jobs.run import Done


class JobProgress:
    """Call it with what is done and what there is to do. Nothing is drawn where nobody looks."""

    def __init__(self, what: str, clock: Clock | None = None) -> None:
        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[segments]} segments"),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task(what, total=None, segments="")
        self._clock = clock or SystemClock()
        self._started = self._clock.monotonic()
        self.timeline: list[tuple[float, int]] = [(0.0, 0)]  # Seconds since the start, and bytes done by then.
        self._before = 0  # Bytes of earlier steps of the same job.
        self._total: Done | None = None  # Of this step.

    @property
    def seconds(self) -> float:
        return self._clock.monotonic() - self._started

    def __call__(self, done: Done, total: Done) -> None:
        if self._total is not None and self._total is not total:
            self._before += self._total.bytes
        self._total = total
        self.timeline.append((self.seconds, self._before + done.bytes))
        segments = f"{done.segments}/{total.segments}"
        self._bar.update(self._task, completed=done.bytes, total=total.bytes, segments=segments)

    def __enter__(self) -> JobProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
