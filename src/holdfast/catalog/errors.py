"""What can go wrong when Spark reads a topic.

Rejected
├── OutOfRange     offsets that were never stored, or are not readable yet
└── DataLost       offsets that are gone: expired, deleted, or lost with a memory topic's tail
Unavailable
└── NotMadeYet     the cluster knows the partition, the store has no manifest of it
"""

from __future__ import annotations

from holdfast.errors import Rejected, Unavailable


class OutOfRange(Rejected):
    """Offsets were asked for that the store does not hold as readable."""

    def __init__(self, where: str, start: int, end: int, log_start: int, readable_end: int) -> None:
        super().__init__(
            f"{where}: offsets [{start}, {end}) were asked for, but [{log_start}, {readable_end}) can be read"
        )
        self.where = where
        self.start = start
        self.end = end
        self.log_start = log_start
        self.readable_end = readable_end


class DataLost(Rejected):
    """Offsets that a reader counted on are gone."""

    def __init__(self, where: str, start: int, end: int, reason: str) -> None:
        super().__init__(
            f"{where}: offsets [{start}, {end}) are gone: {reason}. Set failOnDataLoss to false to go on without them"
        )
        self.where = where
        self.start = start
        self.end = end
        self.reason = reason


class NotMadeYet(Unavailable):
    """A partition without a manifest."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where} has no manifest in the store: its broker is just making it (try again), or it was deleted there"
        )
        self.where = where
