"""The time, handed in. Clocks only decide when to try something, never whether it is right."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

# Where there is none, the clock of intervals has to do.
_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """What time it is."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, for people and for record timestamps; may jump."""

    def monotonic(self) -> float:
        """Seconds from some fixed point; never goes back. Stands still while the machine sleeps."""

    def boottime(self) -> float:
        """The same, but it goes on while the machine sleeps. In a machine that others stop, both stand still."""

    def boot(self) -> str:
        """Which start of the machine `boottime` counts from: equal in two processes, their times can be compared.

        Empty where nobody can say.
        """


class SystemClock:
    """The machine's clock."""

    monotonic = staticmethod(time.monotonic)  # Asked several times for each request.

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def boottime(self) -> float:
        return time.clock_gettime(_BOOTTIME)

    def boot(self) -> str:
        try:
            return _BOOT.read_text(encoding="ascii").strip() if _BOOTTIME != time.CLOCK_MONOTONIC else ""
        except (OSError, ValueError):
            return ""


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms
        self._monotonic = 0.0
        self._asleep = 0.0
        self._boots = 1

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return self._monotonic

    def boottime(self) -> float:
        return self._monotonic + self._asleep

    def boot(self) -> str:
        return f"boot-{self._boots}"

    def reboot(self, seconds: float) -> None:
        """The machine was off for so long: no process that was there is there any more."""
        self._now_ms += int(seconds * 1000)
        self._asleep = -self._monotonic
        self._boots += 1

    def suspend(self, seconds: float) -> None:
        """The machine sleeps."""
        self._now_ms += int(seconds * 1000)
        self._asleep += seconds

    def jump(self, seconds: float) -> None:
        """Somebody sets the time of day, forward or back; no time passes."""
        self._now_ms += int(seconds * 1000)

    def advance(self, seconds: float) -> None:
        self._now_ms += int(seconds * 1000)
        self._monotonic += seconds
