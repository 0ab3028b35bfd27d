"""A small file that is replaced whole: after a crash it is the one before or the new one, and nothing between."""

from __future__ import annotations

import contextlib

from holdfast.io.disk import Directory


def write_whole(directory: Directory, name: str, data: bytes) -> None:
    """Put a file in the place of the one before. Its bytes are durable before it has its name, and then its name is."""
    unfinished = f"{name}.new"
    with contextlib.suppress(FileNotFoundError):
        directory.remove(unfinished)  # Left by a crash.
    file = directory.open(unfinished, create=True)
    try:
        file.write_at(0, [data])
        file.sync()
    finally:
        file.close()
    directory.rename(unfinished, name)
    directory.sync_names()
