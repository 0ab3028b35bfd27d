"""Segments that no manifest lists, and since when we know of them.

A writer lists a segment within half of the grace after it put it, or never. So what we have seen unlisted for all of
the grace, by our own count of time, nobody will list any more, whatever the clocks of store and machine say.
"""

from __future__ import annotations

from holdfast.io.clock import Clock
from holdfast.io.versions import GRACE_S

_COUNT_MAX = 10_000  # Names that are remembered of one partition; others have to wait for their turn.


class Strays:
    """Those of one partition."""

    def __init__(self, clock: Clock, grace_s: float = GRACE_S) -> None:
        self._clock = clock
        self._grace_s = grace_s
        self._seen: dict[str, float] = {}  # When they were first seen, in the clock's seconds.
        self._now: dict[str, float] = {}  # The same, of those that this round has met.

    def begin(self) -> None:
        """A new round: what is not met in it is gone, or is listed."""
        self._seen, self._now = self._now, {}

    def may_go(self, name: str) -> bool:
        """Whether a segment that is not listed may be deleted. Each is asked for once in a round."""
        now = self._clock.boottime()
        since = self._seen.get(name, now)
        if len(self._now) < _COUNT_MAX:
            self._now[name] = since
        return now - since >= self._grace_s
