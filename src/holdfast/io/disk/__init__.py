"""One directory of files on a disk: the interface, and the real one.

Durability is explicit. Bytes are durable after `File.sync`, names after `Directory.sync_names`;
nothing else makes anything durable. All calls block and release the interpreter lock.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from holdfast.errors import Rejected
from holdfast.io.disk.lock import Locked as Locked
from holdfast.io.disk.lock import RealLock
from holdfast.types import Buffer

_BUFFERS_PER_CALL_MAX = 1024  # IOV_MAX on Linux.


class File(Protocol):
    """One open file."""

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Write all buffers one after the other from `position` on, or raise OSError."""

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from `position` on; fewer only at the end of the file."""

    def sync(self) -> None:
        """Make all bytes written so far durable. After an OSError nothing may be assumed of them."""

    def uncache(self, position: int, size: int) -> None:
        """Nobody is going to read these durable bytes soon: the memory that holds them may serve others."""

    def truncate(self, size: int) -> None:
        """Cut the file, or extend it with zeros."""

    def allocate(self, size: int) -> None:
        """Give the file blocks for `size` bytes, or raise OSError: no write below needs new ones."""

    def size(self) -> int:
        """The file's size in bytes."""

    def close(self) -> None:
        """Release the file. Makes nothing durable."""


class Directory(Protocol):
    """One directory of files, without subdirectories."""

    path: str

    def names(self) -> list[str]:
        """The names of all files, sorted."""

    def open(self, name: str, *, create: bool = False, write: bool = True) -> File:
        """Open a file; `create` makes it and fails when it is there already."""

    def rename(self, old: str, new: str) -> None:
        """Give a file another name; one that has the new name is replaced."""

    def remove(self, name: str) -> None:
        """Remove a name. Open files stay readable."""

    def sync_names(self) -> None:
        """Make all names made, changed and removed so far durable."""

    def free_size(self) -> int:
        """Bytes that can still be written on its disk."""

    def lock(self, purpose: str) -> Lock:
        """Take the directory for this process alone, or raise Locked naming the holder."""


class Lock(Protocol):
    """A directory held by this process."""

    def release(self) -> None:
        """Let others have it."""


class RealFile:
    """A file of the operating system."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        if len(buffers) == 1 and os.pwrite(self._descriptor, buffers[0], position) == len(buffers[0]):
            return
        for start in range(0, len(buffers), _BUFFERS_PER_CALL_MAX):
            position = self._write_some(position, buffers[start : start + _BUFFERS_PER_CALL_MAX])

    def _write_some(self, position: int, buffers: Sequence[Buffer]) -> int:
        end = position + sum(map(len, buffers))
        written = os.pwritev(self._descriptor, buffers, position)
        if position + written == end:
            return end
        rest = memoryview(b"".join(buffers))[written:]  # A short write is rare; simple beats fast here.
        position += written
        while rest:
            written = os.pwrite(self._descriptor, rest, position)
            position += written
            rest = rest[written:]
        return end

    def read_at(self, position: int, size: int) -> bytes:
        data = os.pread(self._descriptor, size, position)
        if len(data) == size or not data:
            return data
        pieces = [data]
        got = len(data)
        while got < size and (data := os.pread(self._descriptor, size - got, position + got)):
            pieces.append(data)
            got += len(data)
        return b"".join(pieces)

    def read_into(self, position: int, into: memoryview) -> int:
        """The same into memory that is there: how many bytes there were."""
        got = 0
        while got < len(into) and (more := os.preadv(self._descriptor, [into[got:]], position + got)):
            got += more
        return got

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def uncache(self, position: int, size: int) -> None:
        if hasattr(os, "posix_fadvise"):
            with contextlib.suppress(OSError):  # It is advice.
                os.posix_fadvise(self._descriptor, position, size, os.POSIX_FADV_DONTNEED)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def allocate(self, size: int) -> None:
        os.posix_fallocate(self._descriptor, 0, size)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1  # Taken first: closed twice, it might be another's by then.
        if descriptor >= 0:
            os.close(descriptor)


class RealDirectory:
    """A directory of the operating system, made when it is not there."""

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = str(path)
        if create:
            _make_durable_directory(os.path.abspath(self.path))
        elif not os.path.isdir(self.path):
            raise Rejected(f"{self.path} is not a directory")

    def names(self) -> list[str]:
        with os.scandir(self.path) as entries:
            return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))

    def open(self, name: str, *, create: bool = False, write: bool = True) -> RealFile:
        flags = os.O_CLOEXEC | (os.O_RDWR if write else os.O_RDONLY)
        if create:
            flags |= os.O_CREAT | os.O_EXCL
        return RealFile(os.open(os.path.join(self.path, name), flags, 0o644))

    def rename(self, old: str, new: str) -> None:
        os.rename(os.path.join(self.path, old), os.path.join(self.path, new))

    def remove(self, name: str) -> None:
        os.unlink(os.path.join(self.path, name))

    def sync_names(self) -> None:
        _sync_names(self.path)

    def free_size(self) -> int:
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def lock(self, purpose: str) -> RealLock:
        return RealLock(self.path, purpose)


def _make_durable_directory(path: str, mode: int = 0o700) -> None:
    """Make a directory and those above it that are missing: a file is only as durable as the names on its path.

    What is in it is nobody else's to read.
    """
    parent = os.path.dirname(path)
    if os.path.isdir(path) or parent == path:
        return
    _make_durable_directory(parent, 0o777)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise Rejected(f"{path} is not a directory") from None
    _sync_names(parent)


def _sync_names(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
