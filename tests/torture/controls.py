"""The handles by which the test disturbs a broker from outside: a few numbers in a file that both have in memory.

They outlive the broker: one that is killed and started again finds them as they were.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_NUMBER = struct.Struct("<d")
NAMES = (
    "sync_delay_ms",  # Every fsync takes this much longer.
    "sync_fails",  # 1: the next fsync fails, and only that one.
    "free_size",  # What the disk says is free; below 0: the truth.
    "no_space",  # 1: writes find the disk full.
    "store_before",  # Fractions of all calls to the store that fail before they take effect …
    "store_after",  # … after it …
    "store_early",  # … or while they are still under way.
    "store_delay_ms",
    "store_hangs",  # 1: no call to the store comes back until this is 0 again.
    "store_denies",  # 1: nothing can be deleted from the store.
    "store_errs",  # 1: the next get gives one wrong byte, and only that one.
    "clock_jump_ms",  # How far the wall clock is off.
    "slept_s",  # How long the clock of intervals stood still, in all: as after a suspend.
)
_PLACES = {name: at * _NUMBER.size for at, name in enumerate(NAMES)}
QUIET = dict.fromkeys(NAMES, 0.0) | {"free_size": -1.0}


class Controls:
    """Numbers by name. Reading one costs no call to the operating system."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(b"".join(_NUMBER.pack(QUIET[name]) for name in NAMES))
        self.path = path
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _NUMBER.size * len(NAMES))

    def __getitem__(self, name: str) -> float:
        value: float = _NUMBER.unpack_from(self._memory, _PLACES[name])[0]
        return value

    def __setitem__(self, name: str, value: float) -> None:
        _NUMBER.pack_into(self._memory, _PLACES[name], value)

    def quiet(self, *names: str) -> None:
        """Take these back, or all."""
        for name in names or NAMES:
            self[name] = QUIET[name]
