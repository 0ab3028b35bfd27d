"""Who holds producers back, and why: said in the log at once and from time to time, and counted for metrics.

At the limit of the write-ahead log producers wait a few milliseconds many times a second. That is one story, with one
line at its beginning, one now and then, and one at its end: it is over when nobody has waited for a second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

from holdfast.io.clock import Clock

log = logging.getLogger(__name__)

# The write-ahead log has its largest size; the disk is slower than producers are; lists of spilled batches fill memory.
Reason = Literal["wal", "queue", "memory"]
REASONS: tuple[Reason, ...] = ("wal", "queue", "memory")

_SAY_EVERY_S = 10.0
_OVER_S = 1.0


class HeldBack:
    """Is told whenever producers begin to wait, and when they may go on."""

    def __init__(self, clock: Clock, why: Callable[[Reason], str]) -> None:
        """`why` finds words for what they wait for; it is asked only when something is said."""
        self._clock = clock
        self._why = why
        self.reason: Reason | None = None  # While they wait.
        self._seconds: dict[str, float] = dict.fromkeys(REASONS, 0.0)  # Waited so far, by reason.
        self._since = 0.0  # In the clock's seconds: when the last wait has begun, …
        self._ended = 0.0  # … when it has ended, …
        self._said = 0.0  # … when it was said last, …
        self._began: tuple[float, float] | None = None  # … and when this story did, with the seconds waited before.

    def note(self, reason: Reason | None) -> None:
        """Producers have to wait from now on, for this; None: they do not."""
        if reason == self.reason:
            return
        now = self._clock.monotonic()
        if self.reason is not None:
            self._seconds[self.reason] += now - self._since
        self.reason, self._since, self._ended = reason, now, now
        if reason is not None and self._began is None:
            self._began = now, sum(self._seconds.values())
            self._say(reason, now)

    def seconds(self) -> dict[str, float]:
        """How long producers had to wait so far, by reason."""
        now = self._clock.monotonic()
        waiting = now - self._since
        return {each: self._seconds[each] + (waiting if each == self.reason else 0.0) for each in REASONS}

    @property
    def is_told(self) -> bool:
        """Whether there is anything more to say by and by."""
        return self._began is not None

    def look(self) -> None:
        """Time has passed: say it again, or that it is over."""
        if self._began is None:
            return
        now = self._clock.monotonic()
        if self.reason is not None:
            if now - self._said >= _SAY_EVERY_S:
                self._say(self.reason, now)
        elif now - self._ended >= _OVER_S:
            began, before = self._began
            self._began = None
            waited = sum(self._seconds.values()) - before
            log.warning(
                "producers go on: they were held back for %.1f s of %.1f s",
                waited,
                self._ended - began,
                extra={"facts": {"event": "producers_go_on", "seconds": round(waited, 3)}},
            )

    def _say(self, reason: Reason, now: float) -> None:
        self._said = now
        why = self._why(reason)
        log.warning(
            "producers are held back: %s", why, extra={"facts": {"event": "producers_held_back", "reason": reason}}
        )
