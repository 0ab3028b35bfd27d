"""How long somebody is waited for: not in all, but without any progress."""

from __future__ import annotations

import time
from collections.abc import Callable


class Patience:
    """Ends when nothing has moved for so many seconds; a machine that is merely slow is waited for."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._moved_at = now()
        self._seen: object = None

    def moved(self) -> None:
        self._moved_at = self._now()

    def look(self, state: object) -> None:
        """Progress is whatever differs from the last look."""
        if state != self._seen:
            self._seen = state
            self.moved()

    @property
    def is_over(self) -> bool:
        return self._now() >= self._moved_at + self._seconds
