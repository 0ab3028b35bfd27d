"""Log lines that clients can cause: a few are written, the others are counted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

_LINES = 300  # In each period;
_PERIOD_S = 60.0


class SparingLines:
    """Lines of one logger, so many in a while; then one line says how many were left out."""

    def __init__(self, log: logging.Logger, now: Callable[[], float]) -> None:
        self._log = log
        self._now = now
        self._began_at = now()
        self._count = 0

    def warning(self, text: str, *facts: object) -> None:
        self._write(logging.WARNING, text, facts, None)

    def info(self, text: str, *facts: object, extra: Mapping[str, object] | None = None) -> None:
        self._write(logging.INFO, text, facts, extra)

    def _write(self, level: int, text: str, facts: tuple[object, ...], extra: Mapping[str, object] | None) -> None:
        self.look()
        self._count += 1
        if self._count <= _LINES:
            self._log.log(level, text, *facts, extra=extra)

    def look(self) -> None:
        """Say what was left out, when it is time to."""
        now = self._now()
        if now - self._began_at < _PERIOD_S:
            return
        if self._count > _LINES:
            self._log.warning("%d more lines of this kind were left out", self._count - _LINES)
        self._began_at, self._count = now, 0
