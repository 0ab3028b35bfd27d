"""A copy of the records in quarantine: they were acknowledged, and are in neither the log nor the store.

Copied between the two, which is the way that records take: from the log into quarantine, and by a repair from there
into the store. A file there is whole and never changes, so one that is there already is not copied again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

from holdfast.io.disk import RealDirectory
from holdfast.log.recovery.quarantine import LOST_SUFFIX, SUFFIX

PLACE = "quarantine"


def copy_quarantine(source: Path, target: Path) -> int:
    """Copy what is in the quarantine of one data directory into another's, durably; how many bytes."""
    names = quarantined_names(source)
    if not names:
        return 0
    directory = RealDirectory(target / PLACE)
    size = 0
    for name in sorted(names - quarantined_names(target)):
        with contextlib.suppress(FileNotFoundError):  # Put back since it was listed: the store has its records.
            size += _copy(source / PLACE / name, target / PLACE / name)
    directory.sync_names()
    return size


def prune_quarantine(gone: Collection[str], target: Path) -> None:
    """What was put back, and was gone from the source before its store was copied, goes here, too: the copy has it."""
    for name in gone:
        (target / PLACE / name).unlink(missing_ok=True)


def quarantined_names(data: Path) -> set[str]:
    """The files with records in quarantine now, and with what was found in the place of others."""
    return {path.name for suffix in (SUFFIX, LOST_SUFFIX) for path in (data / PLACE).glob(f"*{suffix}")}


def _copy(original: Path, target: Path) -> int:
    data = original.read_bytes()
    unfinished = target.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(target)
    return len(data)
