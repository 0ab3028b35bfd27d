"""Files in and out of the operating system's page cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_PAGE = 4096
_PIECE = 1 << 20


def load(files: Iterable[Path]) -> None:
    """Read the files, so that they are there."""
    buffer = bytearray(_PIECE)
    for file in files:
        with open(file, "rb", buffering=0) as opened:
            while opened.readinto(buffer):
                pass


def drop(files: Iterable[Path]) -> None:
    """Ask the system to forget the files' pages: those that are clean, which synced ones are."""
    for file in files:
        with open(file, "rb", buffering=0) as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def resident_percent(files: Iterable[Path], samples: int = 64) -> int:
    """How many of some pages of the files are still there: whether a read of one would not have to wait."""
    there = asked = 0
    page = bytearray(_PAGE)
    for file in files:
        with open(file, "rb", buffering=0) as opened:
            pages = max(os.fstat(opened.fileno()).st_size // _PAGE, 1)
            for number in range(0, pages, max(pages // samples, 1)):
                asked += 1
                try:
                    there += os.preadv(opened.fileno(), [page], number * _PAGE, os.RWF_NOWAIT) > 0
                except BlockingIOError:
                    continue
    return round(100 * there / asked) if asked else 0
