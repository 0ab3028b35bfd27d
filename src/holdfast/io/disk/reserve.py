"""A file that holds space for the day the disk is full: given up then, so that what must be written can be.

Its blocks are allocated, not only promised. It lies in the write-ahead log's directory, whose records need the space.
"""

from __future__ import annotations

import errno
import threading

from holdfast.io.disk import Directory

NAME = "RESERVE"
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


class Reserve:
    """Calls block; any thread may make them."""

    def __init__(self, directory: Directory, size: int) -> None:
        self.size = size
        self._directory = directory
        self._lock = threading.Lock()
        self._held = self._is_whole()

    def _is_whole(self) -> bool:
        if NAME not in self._directory.names():
            return False
        file = self._directory.open(NAME, write=False)
        try:
            return file.size() >= self.size
        finally:
            file.close()

    @property
    def is_held(self) -> bool:
        return self._held

    def hold(self) -> bool:
        """Make the file if it is not there; False when the disk has no room for it."""
        with self._lock:
            if self._held:
                return True
            self._remove()
            try:
                file = self._directory.open(NAME, create=True)
                try:
                    file.allocate(self.size)
                finally:
                    file.close()
            except OSError as failure:
                self._remove()
                if failure.errno in NO_SPACE:
                    return False
                raise
            self._held = True
            return True

    def give_up(self) -> bool:
        """Give the space back to the disk; whether there was any."""
        with self._lock:
            had, self._held = self._held, False
            self._remove()
            return had

    def _remove(self) -> None:
        if NAME in self._directory.names():
            self._directory.remove(NAME)
