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
from collections.abc import Iterable, Iterator, Sequence

from holdfast.io.chance import Chance
from holdfast.io.disk import RealFile
from holdfast.io.objects.local.root import OpenRoot
from holdfast.io.objects.names import PRIVATE
from holdfast.types import Buffer

UNFINISHED = ".unfinished"
_ATTEMPTS_MAX = 8  # Each one lost needs another process that sweeps in the same instant.
_LEAVE_IT = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS)  # Gone already, or for somebody who may write here.


class Unfinished:
    """The files of a store that are being written."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    @contextlib.contextmanager
    def written(self, root: OpenRoot, data: Sequence[Buffer]) -> Iterator[str]:
        """The path, below the root, of a new file with these bytes, all durable; it has gone when the block ends."""
        path, descriptor = self._create(root)
        try:
            RealFile(descriptor).write_at(0, data)
            os.fsync(descriptor)
            yield path
        finally:
            with contextlib.suppress(OSError):  # What cannot be removed now is swept at the next open.
                os.unlink(path, dir_fd=root.descriptor)
            os.close(descriptor)  # Last: until the name is gone, the lock keeps sweepers away.

    def _create(self, root: OpenRoot) -> tuple[str, int]:
        for _ in range(_ATTEMPTS_MAX):
            path = f"{UNFINISHED}/{self._chance.bits(64):016x}"
            try:
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                descriptor = os.open(path, flags, 0o644, dir_fd=root.descriptor)
            except FileNotFoundError:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(UNFINISHED, dir_fd=root.descriptor)
                continue
            # A sweeper may have come between the two calls and removed the file as nobody's.
            if _locked(descriptor) and os.fstat(descriptor).st_nlink:
                return path, descriptor
            os.close(descriptor)
        raise OSError(errno.EAGAIN, "no file could be made", UNFINISHED)

    def sweep(self, root: OpenRoot) -> None:
        """Remove the files of dead writers.

        One that has a second name got its name in the store, but whether that name is durable is not known: its writer
        died before it took the first one away. Such names are made durable before anybody can read them.
        """
        try:
            names = _names(root)
        except FileNotFoundError:
            return
        for name in names:
            try:
                self._remove_if_dead(root, f"{UNFINISHED}/{name}")
            except OSError as failure:
                if failure.errno not in _LEAVE_IT:
                    raise

    def _remove_if_dead(self, root: OpenRoot, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root.descriptor)
        try:
            if _locked(descriptor):
                if os.fstat(descriptor).st_nlink > 1:
                    sync_file_system(descriptor)
                os.unlink(path, dir_fd=root.descriptor)
        finally:
            os.close(descriptor)


class Folders:
    """Makes the folders of a store, and knows which of them are durable."""

    def __init__(self) -> None:
        self._durable: set[tuple[int, str]] = set()  # Of which root, and the path below it.
        self._lock = threading.Lock()

    def make(self, root: OpenRoot, folder: str) -> None:
        """Make a folder of the store and those above it, all of them durable; never the store itself.

        A folder that is there already may be one that another writer has just made and not synced yet, so that the
        first use of every folder syncs the one above it.
        """
        if not folder or (root.number, folder) in self._durable:
            return
        above = os.path.dirname(folder)
        self.make(root, above)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700 if folder in PRIVATE else 0o777, dir_fd=root.descriptor)
        sync_folder(above, root.descriptor)
        with self._lock:
            self._durable.add((root.number, folder))

    def drop(self, root: OpenRoot, folders: Iterable[str]) -> None:
        """These were removed."""
        with self._lock:
            self._durable.difference_update((root.number, folder) for folder in folders)

    def forget(self) -> None:
        """Look again at the next call: somebody has removed folders."""
        with self._lock:
            self._durable.clear()


def make_durable(folder: str) -> None:
    """Make a folder and those above it that are missing. What is above, and there, is not ours to sync."""
    if not os.path.isdir(folder):
        above = os.path.dirname(folder)
        make_durable(above)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder)
        sync_folder(above)


def sync_folder(path: str, root: int | None = None) -> None:
    """Make the names in a folder durable; with `root` the path is below that directory."""
    descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
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


def _names(root: OpenRoot) -> list[str]:
    folder = os.open(UNFINISHED, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root.descriptor)
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
