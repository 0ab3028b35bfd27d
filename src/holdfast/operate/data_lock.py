"""Who may change a data directory: one process at a time.

The write-ahead log has a lock of its own, which every writer of it takes. But a repair puts another log in its place,
and between the two there is none: whoever began a new one then would hide all that was repaired.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.errors import Rejected
from holdfast.io.disk import RealDirectory


@contextmanager
def held(data: Path, purpose: str, *, create: bool = True) -> Iterator[None]:
    """Hold a data directory, or raise Locked naming who does."""
    try:
        lock = RealDirectory(data, create=create).lock(purpose)
    except (PermissionError, FileNotFoundError) as failure:
        raise Rejected(
            f"{data} cannot be written to ({failure.strerror}): choose another directory, or run as who owns it"
        ) from failure
    try:
        yield
    finally:
        lock.release()
