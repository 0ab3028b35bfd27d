"""What a subscription has done, and how far it is behind."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True)
class Stats:
    """Counters since the subscription was made; what belongs to now is said so."""

    events: int = 0
    late: int = 0  # Delivered behind the point.
    skipped: int = 0  # Offsets that retention took before they were read, or that nobody can read.
    errors: int = 0  # Failures after which it went on from the cursor.
    last_error: str = ""
    moved: int = 0  # How often it went on from the cursor because other brokers lead what is followed.
    last_timestamp: int = -1  # Of the last event.
    live: bool = False  # Now: the backlog is through, on all servers.
    lag_records: int = 0  # Now, as far as the servers have told.
    segments: int = 0  # Read from the store by references.
    _gaps: dict[int, list[tuple[int, int]]] = field(default_factory=dict, repr=False)  # By lane, in order.
    _lock: Lock = field(default_factory=Lock, repr=False)

    def skip(self, lane: int, start: int, end: int) -> None:
        """Offsets of a lane are gone. Each counts once, however often a try meets it. Threads call this, too."""
        with self._lock:
            gaps = self._gaps.setdefault(lane, [])
            before = sum(last - first for first, last in gaps)
            insort(gaps, (start, max(start, end)))
            self._gaps[lane] = gaps = _joined(gaps)
            self.skipped += sum(last - first for first, last in gaps) - before

    def lag_ms(self, now_ms: int) -> int:
        """How old the last event is; 0 when nothing is left to read."""
        if self.lag_records <= 0 or self.last_timestamp < 0:
            return 0
        return max(now_ms - self.last_timestamp, 0)


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, without those that touch."""
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined
