"""The last step of a repair that ended before it: whoever opens the data directory next takes it.

On its own, so that `holdfast serve` need not load all that a repair needs.
"""

from __future__ import annotations

import logging
from pathlib import Path

from holdfast.io.disk import RealDirectory

log = logging.getLogger(__name__)

BUILT = "wal.repaired"  # The new log until it has its name.


def finish_interrupted(data: Path) -> None:
    """A repair that ended between its last two renames has built the new log, and only has to name it.

    The old log is gone from its place only when the new one is whole. Without this step a broker would begin an empty
    log beside it, and hide what was repaired.
    """
    if (data / BUILT).is_dir() and not (data / "wal").exists():
        (data / BUILT).rename(data / "wal")
        RealDirectory(data).sync_names()
        log.warning("a repair of %s had ended before its last step: the repaired log is in place now", data)
