"""Time in a simulation: one true clock, which the store has, and the clock of each broker, which may be wrong."""

from __future__ import annotations

from holdfast.io.clock import ManualClock


class BrokerClock(ManualClock):
    """A machine's clocks: that of the wall may be set to any time, that of intervals stands still while it sleeps."""

    def __init__(self, world: ManualClock) -> None:
        super().__init__()
        self._world = world
        self.off_ms = 0  # How far the wall clock is ahead.
        self.slept_s = 0.0

    def now_ms(self) -> int:
        return self._world.now_ms() + self.off_ms

    def monotonic(self) -> float:
        return self._world.monotonic() - self.slept_s

    def boottime(self) -> float:
        return self._world.monotonic()

    def true_ms(self) -> int:
        """What the clocks of all others say."""
        return self._world.now_ms()

    def advance(self, seconds: float) -> None:
        self._world.advance(seconds)
