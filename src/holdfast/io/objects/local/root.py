"""The directory of a local store, and whether it is still the one that it was.

A path is only a name: when a file system is unmounted, the name leads to the bare mount point, and when another one is
mounted there, to somebody else's files. So every call opens the directory anew, recognises it, and does all its work
relative to what it opened: what comes and goes at the path meanwhile cannot come between.

A store is recognised by its cluster file, byte for byte, so that it is known again after a mount, whatever numbers the
system gives it this time. One without a cluster file is known by device and inode, from the first put on. Mostly
nothing has changed since the last call, and two `stat` say so.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.io.objects.names import CLUSTER

_READ_MAX = 1 << 16  # Bytes of a cluster file that are compared; ours have about a hundred.


class RootLost(Exception):
    """The path does not lead to the store; the text says where it leads."""


class OpenRoot(NamedTuple):
    """The store's directory, for the time of one call."""

    descriptor: int
    number: int  # Another one after each mount: what was known of folders before holds no more.


class _Sight(NamedTuple):
    """What two `stat` tell of a directory; the same sight is the same store."""

    place: tuple[int, int]  # Device and inode.
    mark: tuple[int, int, int] | None  # Inode, time of change and size of the cluster file.


class Root:
    """Remembers by what a store is recognised. May be used from any thread."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known: _Sight | None = None  # What was recognised last.
        self._mark: bytes | None = None  # The cluster file.
        self._number = 0

    @contextlib.contextmanager
    def opened(self, *, to_write: bool = False) -> Iterator[OpenRoot]:
        """The store's directory, or RootLost."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise RootLost(f"{self._path} is not there: is its file system mounted?") from None
        try:
            yield OpenRoot(descriptor, self._recognise(descriptor, to_write=to_write))
        finally:
            os.close(descriptor)

    def forget_mark(self) -> None:
        """The cluster file was written anew, by us: the next call learns it."""
        with self._lock:
            self._mark = None
            if self._known is not None:
                self._known = _Sight(self._known.place, None)

    def _recognise(self, descriptor: int, *, to_write: bool) -> int:
        sight = _look(descriptor)
        with self._lock:
            if sight != self._known:
                self._take(descriptor, sight, to_write=to_write)
            return self._number

    def _take(self, descriptor: int, sight: _Sight, *, to_write: bool) -> None:
        mark = _read_mark(descriptor) if sight.mark else None
        is_new_place = self._known is not None and self._known.place != sight.place
        if self._mark is not None and mark is None:
            raise RootLost(f"{self._path} has no {CLUSTER} any more: is its file system mounted?")
        if self._mark is not None and mark != self._mark:
            raise RootLost(f"{self._path} is another cluster's store now: what is mounted there?")
        if self._mark is None and is_new_place:
            raise RootLost(f"{self._path} is not the directory that it was: is its file system mounted?")
        if mark is None and not to_write:
            return  # An empty directory may be a mount point that waits for its file system: only a put settles it.
        self._number += self._known is None or is_new_place
        self._known, self._mark = sight, mark


def _look(descriptor: int) -> _Sight:
    found = os.fstat(descriptor)
    try:
        mark = os.stat(CLUSTER, dir_fd=descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return _Sight((found.st_dev, found.st_ino), None)
    return _Sight((found.st_dev, found.st_ino), (mark.st_ino, mark.st_ctime_ns, mark.st_size))


def _read_mark(descriptor: int) -> bytes:
    file = os.open(CLUSTER, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
    try:
        return os.read(file, _READ_MAX)
    finally:
        os.close(file)
