"""An object store in a local directory.

An object is a file. It gets its name by a hard link (put-if-absent) or a rename (put) after its bytes are durable, and
a put returns after that name is durable too; so an object is whole or absent at every moment, also after a power cut.
The file system must have hard links and locks, and be one: no other one mounted inside. Several processes may share it.

Deletes are not synced: a deleted object may come back after a power cut. Folders stay when they are empty.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from holdfast.errors import Rejected
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.disk import RealFile
from holdfast.io.local_files import Folders, Unfinished, sync_folder
from holdfast.io.local_listing import listed
from holdfast.io.object_names import BadName, check_name, check_prefix, check_range, clip
from holdfast.io.objects import Exists, NotFound, ObjectInfo, StoreFailed
from holdfast.types import Buffer


class LocalObjects:
    """A directory as object store, made when it is not there."""

    def __init__(self, path: str | Path, *, create: bool = True, chance: Chance | None = None) -> None:
        self._root = os.path.abspath(path)
        self.url = Path(self._root).as_uri()
        self._folders = Folders(self._root)
        self._unfinished = Unfinished(self._root, chance or SystemChance())
        self._broken: str | None = None
        with self._call("open", self._root):
            if create and not os.path.lexists(self._root):
                with contextlib.suppress(NotADirectoryError):  # Said better by what follows.
                    self._folders.make(self._root)
            if not os.path.isdir(self._root):
                raise Rejected(f"{self._root} is not a directory")
            self._unfinished.sweep()

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        path = self._path(name)
        with self._call("put", name), self._unfinished.written(data) as unfinished:
            self._folders.make(os.path.dirname(path))
            try:
                os.link(unfinished, path)
            except FileExistsError:
                raise Exists(name) from None
            self._keep(path)

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        path = self._path(name)
        with self._call("put", name), self._unfinished.written(data) as unfinished:
            self._folders.make(os.path.dirname(path))
            os.rename(unfinished, path)
            sync_folder(os.path.dirname(path))

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        path = self._path(name)
        check_range(start, end)
        with self._call("get", name), self._opened(name, path) as (file, size):
            start, end = clip(start, end, size)
            data = file.read_at(start, end - start)
            if len(data) != end - start:
                raise StoreFailed("get", name, f"got {len(data)} of {end - start} bytes")
            return data

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        check_prefix(prefix)
        return self._listed(prefix, after)

    def delete(self, name: str) -> None:
        path = self._path(name)
        with (
            self._call("delete", name),
            contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError),
        ):
            os.unlink(path)

    def size(self, name: str) -> int:
        path = self._path(name)
        with self._call("size", name):
            try:
                found = os.stat(path, follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                raise self._absent(name) from None
            if not stat.S_ISREG(found.st_mode):
                raise NotFound(name)
            return found.st_size

    def _path(self, name: str) -> str:
        check_name(name)
        return os.path.join(self._root, name)

    @contextlib.contextmanager
    def _call(self, action: str, name: str) -> Iterator[None]:
        if self._broken:
            raise StoreFailed(action, name, self._broken)
        try:
            yield
        except (NotADirectoryError, IsADirectoryError):
            raise BadName(name, "it is the folder of an object, or an object is its folder") from None
        except OSError as failure:
            if isinstance(failure, FileNotFoundError):
                self._folders.forget()
            raise StoreFailed(action, name, failure) from failure

    @contextlib.contextmanager
    def _opened(self, name: str, path: str) -> Iterator[tuple[RealFile, int]]:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise self._absent(name) from None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise NotFound(name)
            yield RealFile(descriptor), found.st_size
        finally:
            os.close(descriptor)

    def _listed(self, prefix: str, after: str) -> Iterator[ObjectInfo]:
        with self._call("list", prefix):
            yield from listed(self._root, prefix, after)

    def _absent(self, name: str) -> Exception:
        if not os.path.isdir(self._root):
            return StoreFailed("find", name, f"{self._root} has gone")
        return NotFound(name)

    def _keep(self, path: str) -> None:
        """Make an object's new name durable, or take it back.

        Whoever finds an object may act on it, so that a name which is not durable must not stay. If it cannot be taken
        back either (a file system that turned read-only), the store stops answering: wrong answers are worse.
        """
        try:
            sync_folder(os.path.dirname(path))
        except OSError:
            try:
                os.unlink(path)
            except OSError as failure:
                self._broken = f"a name could not be made durable, nor removed ({failure}): reopen the store"
            raise
