"""One process to a directory: the directory itself is locked, and the file LOCK in it says by whom.

Both are held. The directory's own lock cannot be taken away by deleting a file; the file's keeps out releases that
know no other. Both are `flock`s: gone with the process, however it ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os

from holdfast.errors import Rejected

log = logging.getLogger(__name__)

_KERNEL_LOCKS = "/proc/locks"
# What a file system says that locks no directories: some network file systems lock only what is open for writing.
_NO_DIRECTORY_LOCKS = {errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP}


class Locked(Rejected):
    """Another process has the directory open."""

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(f"{path} is in use by {holder}: stop it first, or choose another directory")
        self.path = path
        self.holder = holder


class RealLock:
    """A directory of the operating system, held by this process alone."""

    def __init__(self, directory: str, purpose: str) -> None:
        self._folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._file = -1
        try:
            if not _take_folder(self._folder, directory):
                raise Locked(directory, _holder_of(directory, self._folder))
            self._file = os.open(os.path.join(directory, "LOCK"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if not _take(self._file):
                raise Locked(directory, _holder_of(directory, self._file))
        except BaseException:
            self._close()
            raise
        with contextlib.suppress(OSError):  # Who holds it is only told to people: a full disk is no reason to fail.
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps({"pid": os.getpid(), "purpose": purpose}).encode(), 0)

    def release(self) -> None:
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)
        self._close()

    def _close(self) -> None:
        # The directory last: whoever gets it gets the file, too.
        descriptors, self._file, self._folder = (self._file, self._folder), -1, -1
        for descriptor in descriptors:
            if descriptor >= 0:
                os.close(descriptor)


def _take_folder(descriptor: int, directory: str) -> bool:
    """Lock the directory itself; where that cannot be done, the file in it has to do, and that is said."""
    try:
        return _take(descriptor)
    except OSError as failure:
        if failure.errno not in _NO_DIRECTORY_LOCKS:
            raise
        log.warning(
            "%s is on a file system that cannot lock a directory (%s): only the file LOCK in it keeps a second process"
            " out, so never delete that file",
            directory,
            failure.strerror,
        )
        return True


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder_of(directory: str, locked: int) -> str:
    """Who holds it, as LOCK says; as the kernel says, where LOCK was deleted or overwritten."""
    try:
        with open(os.path.join(directory, "LOCK"), "rb") as file:
            holder = json.loads(file.read(4096))
        return f"process {holder['pid']} ({holder['purpose']})"
    except (OSError, ValueError, KeyError, TypeError):
        pid = _kernel_holder(os.fstat(locked))
        return "another process" if pid is None else f"process {pid}"


def _kernel_holder(found: os.stat_result) -> str | None:
    """The process that the kernel's list of locks names: `1: FLOCK ADVISORY WRITE 4711 fe:00:246947 0 EOF`."""
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    with contextlib.suppress(OSError), open(_KERNEL_LOCKS, encoding="ascii") as lines:
        for line in lines:
            fields = line.split()
            if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == place and fields[4].isdecimal():
                return fields[4] if fields[4] != "0" else None  # 0: of another container.
    return None
