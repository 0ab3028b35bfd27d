"""Where the demo takes place: brokers in processes of their own, a directory, the ledger. All is gone at the end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.demo.events import Events
from holdfast.demo.interrupt import Interrupt
from holdfast.demo.ledger import Ledger
from holdfast.demo.watch import Watch
from holdfast.io.clock import Clock, SystemClock
from holdfast.testing import RunningBroker

PARTITIONS = 4
# Smaller segments than usual, so that some are written, and some are only half written, when the broker is killed.
_OPTIONS = ("--set", f"log.segment_size_max={4 << 20}", "--set", f"num.partitions={PARTITIONS}")


@dataclass(frozen=True, slots=True)
class DemoWanted:
    """How much is to be done, and where."""

    events: int = 1_000_000
    folder: Path | None = None  # None: where the system keeps temporary files.

    @property
    def live_events(self) -> int:
        """Written while a subscription is open; the rest is there before."""
        return max(self.events // 100, 1)


class Stage:
    """What the steps share."""

    def __init__(
        self, wanted: DemoWanted, folder: Path, stack: ExitStack, watch: Watch, interrupt: Interrupt, clock: Clock
    ) -> None:
        self.wanted = wanted
        self.folder = folder
        self.watch = watch
        self.interrupt = interrupt
        self.clock = clock
        self.events = Events(wanted.events)
        self.ledger = Ledger(self.events)
        self.timeline: list[tuple[float, int]] = []  # Seconds since the first event was sent, and acks by then.
        self.moments: list[tuple[float, str]] = []  # When the broker was killed, and when it was back.
        self._stack = stack
        self._brokers: dict[str, RunningBroker] = {}

    @property
    def backlog(self) -> int:
        """How many events there are before the live ones."""
        return self.wanted.events - self.wanted.live_events

    def broker(self, name: str = "first") -> RunningBroker:
        """A broker, started when it is asked for first; ended with the stage, whatever happens."""
        if name not in self._brokers:
            broker = RunningBroker(self.folder / name, options=_OPTIONS)
            self._stack.callback(broker.close)
            self._brokers[name] = broker
            self.interrupt.behind(broker.start)  # Inside, it would leave a process that nobody knows of.
        return self._brokers[name]


@contextmanager
def staged(
    wanted: DemoWanted, watch: Watch, interrupt: Interrupt | None = None, clock: Clock | None = None
) -> Iterator[Stage]:
    """A stage for as long as the block lasts."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-demo-", dir=wanted.folder))
        yield Stage(wanted, Path(folder), stack, watch, interrupt or Interrupt(), clock or SystemClock())
