"""A group that reads while others are killed: a real consumer, again and again, each time for a few records."""

from __future__ import annotations

import threading

from tests.sync.consuming import consume

_STEP_COUNT = 700  # Records between two commits.


class Reading(threading.Thread):
    """Reads at one side until it has so many records."""

    def __init__(self, address: str, topic: str, group: str, count: int) -> None:
        super().__init__(daemon=True)
        self._place = address, topic, group
        self._count = count
        self.values: list[bytes] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while len(self.values) < self._count:
                self.values += consume(*self._place, min(_STEP_COUNT, self._count - len(self.values)))
        except BaseException as failure:
            self.failure = failure
