"""How a local store makes files durable: unfinished files, folders, and what a dead writer left behind.

A file is written under a name of its own in `.unfinished`, synced, and only then given its name in the store. Its
writer keeps it locked meanwhile. A lock goes with its process, however that ends, so a file that can be locked has no
writer: no clock and no process table is asked.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import threading
from collections.abc import Iterator, Sequence

from holdfast.io.chance import Chance
from holdfast.io.disk import RealFile
from holdfast.types import Buffer

UNFINISHED = ".unfinished"
_ATTEMPTS_MAX = 8  # Each one lost needs another process that sweeps in the same instant.
_LEAVE_IT = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS)  # Gone already, or for somebody who may write here.


class Unfinished:
    """The files of a store that are being written."""

    def __init__(self, root: str, chance: Chance) -> None:
        self._folder = os.path.join(root, UNFINISHED)
        self._chance = chance

    @contextlib.contextmanager
    def written(self, data: Sequence[Buffer]) -> Iterator[str]:
        """The path of a new file with these bytes, all of them durable; it has gone when the block ends."""
        path, descriptor = self._create()
        try:
            RealFile(descriptor).write_at(0, data)
            os.fsync(descriptor)
            yield path
        finally:
            with contextlib.suppress(OSError):  # What cannot be removed now is swept at the next open.
                os.unlink(path)
            os.close(descriptor)  # Last: until the name is gone, the lock keeps sweepers away.

    def _create(self) -> tuple[str, int]:
        for _ in range(_ATTEMPTS_MAX):
            path = os.path.join(self._folder, f"{self._chance.bits(64):016x}")
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            except FileNotFoundError:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(self._folder)  # And no more than that: a store that has gone must not come back empty.
                continue
            # A sweeper may have come between the two calls and removed the file as nobody's.
            if _locked(descriptor) and os.fstat(descriptor).st_nlink:
                return path, descriptor
            os.close(descriptor)
        raise OSError(errno.EAGAIN, "no file could be made", self._folder)

    def sweep(self) -> None:
        """Remove the files of dead writers.

        One that has a second name got its name in the store, but whether that name is durable is not known: its writer
        died before it took the first one away. Such names are made durable before anybody can read them.
        """
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return
        for name in names:
            try:
                self._remove_if_dead(os.path.join(self._folder, name))
            except OSError as failure:
                if failure.errno not in _LEAVE_IT:
                    raise

    def _remove_if_dead(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if _locked(descriptor):
                if os.fstat(descriptor).st_nlink > 1:
                    sync_file_system(descriptor)
                os.unlink(path)
        finally:
            os.close(descriptor)


class Folders:
    """Makes the folders of a store, and knows which of them are durable."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._durable: set[str] = set()
        self._lock = threading.Lock()

    def make(self, folder: str) -> None:
        """Make a folder of the store and those above it, all of them durable.

        A folder that is there already may be one that another writer has just made and not synced yet, so that the
        first use of every folder syncs the one above it. What is above the store, and there, is not ours to sync.
        """
        if folder in self._durable:
            return
        above = os.path.dirname(folder)
        if folder.startswith(self._root + "/") or not os.path.isdir(folder):
            self.make(above)
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)
            sync_folder(above)
        with self._lock:
            self._durable.add(folder)

    def forget(self) -> None:
        """Look again at the next call: somebody has removed folders."""
        with self._lock:
            self._durable.clear()


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(descriptor: int) -> None:
    """Make everything on the file system of an open file durable. Slow: only for what a dead writer left."""
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
    elif syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
