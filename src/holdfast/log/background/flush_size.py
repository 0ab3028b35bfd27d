"""How much is put at a time: less after time-outs, as much as is set when the store is well again.

A slow uplink is shared by all flushes that are under way, and a segment that does not get through in its time has cost
all of it. So after a time-out segments are half as large, and half as many are put at a time, again and again down to a
floor; after some successes in a row both are doubled. Each step up that ends in a time-out makes the next one wait for
twice as many successes, so that an uplink that stays slow is not tried out for ever.
"""

from __future__ import annotations

import logging

from holdfast.log.settings import MIB, LogSettings

log = logging.getLogger(__name__)

SEGMENT_SIZE_FLOOR = MIB  # At most; a smaller segment_size_max is divided by four.
_GOOD_MIN = 4
_GOOD_MAX = 256


class FlushSize:
    """Belongs to one event loop."""

    def __init__(self, settings: LogSettings, url: str) -> None:
        self._settings = settings
        self._url = url
        self._floor = min(SEGMENT_SIZE_FLOOR, max(settings.segment_size_max // 4, 1))
        self._good = 0  # Puts that succeeded since the last change.
        self._good_needed = _GOOD_MIN
        self.number = 0  # Of changes: what was begun before one says nothing about the pace after it.
        self.segment_size_max = settings.segment_size_max
        self.flushes_max = settings.flushes_max

    @property
    def is_slowed(self) -> bool:
        return self.segment_size_max < self._settings.segment_size_max or self.flushes_max < self._settings.flushes_max

    def note_timeout(self, number: int) -> None:
        """A put of the pace with this number was not done in its time."""
        if number != self.number:
            return  # Begun at a pace that was given up already.
        if self.is_slowed:
            self._good_needed = min(self._good_needed * 2, _GOOD_MAX)
        before = self.segment_size_max, self.flushes_max
        self._set(max(self.segment_size_max // 2, self._floor), max(self.flushes_max // 2, 1))
        if before == (self.segment_size_max, self.flushes_max):
            return  # It was as slow as it gets.
        log.warning(
            "store slow: a put timed out: from here on segments of at most %d bytes, %d at a time",
            self.segment_size_max,
            self.flushes_max,
            extra={"facts": self._facts("store_slow")},
        )

    def note_success(self, number: int) -> None:
        if number != self.number or not self.is_slowed:
            return
        self._good += 1
        if self._good < self._good_needed:
            return
        settings = self._settings
        self._set(
            min(self.segment_size_max * 2, settings.segment_size_max), min(self.flushes_max * 2, settings.flushes_max)
        )
        if not self.is_slowed:
            self._good_needed = _GOOD_MIN
            log.info(
                "store well: segments are put as large and as many at a time as is set",
                extra={"facts": self._facts("store_well")},
            )

    def _set(self, segment_size_max: int, flushes_max: int) -> None:
        self.segment_size_max, self.flushes_max = segment_size_max, flushes_max
        self.number += 1
        self._good = 0

    def _facts(self, event: str) -> dict[str, object]:
        return {
            "event": event,
            "store": self._url,
            "segment_size_max": self.segment_size_max,
            "flushes_max": self.flushes_max,
        }
