"""A folder for a broker of a test: removed afterwards, or by the next test run where this one is killed."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PREFIX = "holdfast-testing-"
_OWNER = "owner"  # Locked for as long as somebody uses the folder: a lock ends with its process, however that ends.

_swept = False


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, for as long as the block lasts."""
    global _swept
    if not _swept:
        sweep(Path(tempfile.gettempdir()))
        _swept = True
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        folder = Path(name)
        with _lock(folder):
            yield folder


def sweep(place: Path) -> None:
    """Remove what test runs have left that were killed."""
    for folder in place.glob(f"{PREFIX}*"):
        try:
            with (folder / _OWNER).open("rb+") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # Somebody uses it, or it is not ours.


def is_used(folder: Path) -> bool:
    """Whether the one who made it is still there."""
    try:
        with (folder / _OWNER).open("rb+") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _lock(folder: Path) -> IO[bytes]:
    new = folder / f"{_OWNER}.new"
    owner = new.open("xb+")
    fcntl.flock(owner, fcntl.LOCK_EX)
    new.rename(folder / _OWNER)  # Never there without its lock: another run would remove the folder.
    return owner
