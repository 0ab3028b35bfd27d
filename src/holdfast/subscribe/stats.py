"""What a subscription has done, and how far it is behind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Stats:
    """Counters since the subscription was made; what belongs to now is said so."""

    events: int = 0
    late: int = 0  # Delivered behind the point.
    skipped: int = 0  # Offsets that retention took before they were read.
    errors: int = 0  # Failures after which it went on from the cursor.
    last_error: str = ""
    last_timestamp: int = -1  # Of the last event.
    live: bool = False  # Now: the backlog is through, on all servers.
    lag_records: int = 0  # Now, as far as the servers have told.
    segments: int = 0  # Read from the store by references.

    def lag_ms(self, now_ms: int) -> int:
        """How old the last event is; 0 when nothing is left to read."""
        if self.lag_records <= 0 or self.last_timestamp < 0:
            return 0
        return max(now_ms - self.last_timestamp, 0)
