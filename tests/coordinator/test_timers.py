"""Many deadlines, one alarm."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.coordinator.runtime.timers import LoopAlarm, Timers
from holdfast.io.clock import ManualClock, SystemClock


class Bell:
    """An alarm that the test rings; it knows what it was set for."""

    def __init__(self) -> None:
        self.settings: list[float] = []
        self.ring: Callable[[], None] = lambda: None

    def set(self, seconds: float, ring: Callable[[], None]) -> None:
        self.settings.append(seconds)
        self.ring = ring

    def stop(self) -> None:
        self.ring = lambda: None


class Callee:
    """Somebody to be called."""

    def __init__(self) -> None:
        self.times: list[int] = []

    def due(self, now: int) -> None:
        self.times.append(now)


def test_the_alarm_is_set_for_the_earliest_deadline_only() -> None:
    """K3: later ones cost nothing until it is their turn."""
    clock, bell = ManualClock(), Bell()
    timers = Timers(clock, bell)
    callees = [Callee() for _ in range(3)]
    for callee, deadline in zip(callees, (5_000, 7_000, 2_000), strict=True):
        timers.call_at(deadline, callee.due)
    assert bell.settings == [5.0, 2.0]
    clock.advance(2)
    bell.ring()
    assert [callee.times for callee in callees] == [[], [], [2_000]]
    assert bell.settings == [5.0, 2.0, 3.0]
    clock.advance(10)
    bell.ring()
    assert [callee.times for callee in callees] == [[12_000], [12_000], [2_000]]
    assert len(bell.settings) == 3


def test_of_several_deadlines_the_earliest_holds() -> None:
    """K3: and each callee is called once for it."""
    clock, bell = ManualClock(), Bell()
    timers, callee = Timers(clock, bell), Callee()
    for deadline in (5_000, 3_000, 4_000):
        timers.call_at(deadline, callee.due)
    clock.advance(6)
    timers.run_due()
    timers.run_due()
    assert callee.times == [6_000]


def test_who_is_forgotten_is_not_called() -> None:
    """K3: nor anybody after a stop."""
    clock, bell = ManualClock(), Bell()
    timers, gone, stays = Timers(clock, bell), Callee(), Callee()
    timers.call_at(1_000, gone.due)
    timers.call_at(1_000, stays.due)
    timers.forget(gone.due)
    clock.advance(1)
    timers.run_due()
    assert (gone.times, stays.times) == ([], [1_000])
    timers.call_at(2_000, stays.due)
    timers.stop()
    clock.advance(5)
    timers.run_due()
    timers.call_at(0, stays.due)
    timers.run_due()
    assert stays.times == [1_000]


def test_a_callee_that_fails_does_not_stop_the_others() -> None:
    """K3: the alarm is set for them all the same."""
    clock, bell = ManualClock(), Bell()
    timers, callee = Timers(clock, bell), Callee()

    def fail(now: int) -> None:
        raise RuntimeError(now)

    timers.call_at(1_000, fail)
    timers.call_at(1_000, callee.due)
    clock.advance(1)
    try:
        bell.ring()
    except RuntimeError:
        bell.ring()
    assert callee.times == [1_000]


def test_what_is_forgotten_does_not_pile_up() -> None:
    """K3: memory is bounded by those who wait."""
    clock, bell = ManualClock(), Bell()
    timers = Timers(clock, bell)
    for _ in range(10_000):
        callee = Callee()
        timers.call_at(1_000_000, callee.due)
        timers.forget(callee.due)
    assert len(timers._heap) < 200


def test_an_alarm_of_the_loop() -> None:
    """K3: rings by itself, at the deadline, once."""

    async def wait() -> list[int]:
        timers, callee = Timers(SystemClock(), LoopAlarm()), Callee()
        rung = asyncio.Event()

        def due(now: int) -> None:
            callee.due(now)
            rung.set()

        start = timers.now()
        timers.call_at(start + 60_000, callee.due)
        timers.call_at(start + 5, due)
        await asyncio.wait_for(rung.wait(), 5)
        timers.stop()
        return [now - start for now in callee.times]

    [after] = asyncio.run(wait())
    assert after >= 5
