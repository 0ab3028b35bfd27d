"""An object store in a local directory.

An object is a file. It gets its name by a hard link (put-if-absent) or a rename (put) after its bytes are durable, and
a put returns after that name is durable too; so an object is whole or absent at every moment, also after a power cut.
The file system must have hard links and locks, and be one: no other one mounted inside. Several processes may share it.
One that was unmounted is not written around, and is known again when it is back (`local_root`).

Deletes are not synced: a deleted object may come back after a power cut. Folders stay when they are empty, except those
of deleted topics (`local_prune`).
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
from holdfast.io.objects import Exists, NotFound, ObjectInfo, StoreFailed
from holdfast.io.objects.local.files import Folders, Unfinished, make_durable, sync_folder
from holdfast.io.objects.local.listing import listed
from holdfast.io.objects.local.prune import prune
from holdfast.io.objects.local.root import OpenRoot, Root, RootLost
from holdfast.io.objects.names import CLUSTER, BadName, check_name, check_prefix, check_range, clip
from holdfast.types import Buffer


class LocalObjects:
    """A directory as object store, made when it is not there."""

    def __init__(
        self, path: str | Path, *, create: bool = True, may_be_absent: bool = False, chance: Chance | None = None
    ) -> None:
        """One that `may_be_absent` is waited for, if it is: until its file system is mounted all calls fail."""
        path = os.path.abspath(path)
        self.url = Path(path).as_uri()
        self._root = Root(path)
        self._folders = Folders()
        self._unfinished = Unfinished(chance or SystemChance())
        self._swept = -1  # The number of the root whose leftovers were looked at.
        self._broken: str | None = None
        with self._call("open", path):
            if may_be_absent and not os.path.lexists(path):
                return
            if create and not os.path.lexists(path):
                with contextlib.suppress(NotADirectoryError):  # Said better by what follows.
                    make_durable(path)
            if not os.path.isdir(path):
                raise Rejected(f"{path} is not a directory")
            with self._rooted():
                pass  # Whoever cannot sweep cannot read: what dead writers left is not for readers.

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        with self._putting(name, data) as (root, unfinished):
            try:
                os.link(unfinished, name, src_dir_fd=root.descriptor, dst_dir_fd=root.descriptor)
            except FileExistsError:
                raise Exists(name) from None
            self._keep(root, name)

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        with self._putting(name, data) as (root, unfinished):
            os.rename(unfinished, name, src_dir_fd=root.descriptor, dst_dir_fd=root.descriptor)
            if name == CLUSTER:
                self._root.forget_mark()
            sync_folder(os.path.dirname(name), root.descriptor)

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        check_name(name)
        check_range(start, end)
        with self._call("get", name), self._opened(name) as (file, size):
            start, end = clip(start, end, size)
            data = file.read_at(start, end - start)
            if len(data) != end - start:
                raise StoreFailed("get", name, f"got {len(data)} of {end - start} bytes")
            return data

    def get_into(self, name: str, start: int, into: memoryview) -> int:
        check_name(name)
        check_range(start, start + len(into))
        with self._call("get", name), self._opened(name) as (file, size):
            wanted = max(min(size - start, len(into)), 0)
            got = file.read_into(start, into[:wanted])
            if got != wanted:
                raise StoreFailed("get", name, f"got {got} of {wanted} bytes")
            return got

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        check_prefix(prefix)
        return self._listed(prefix, after)

    def delete(self, name: str) -> None:
        check_name(name)
        with (
            self._call("delete", name),
            self._rooted() as root,
            contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError),
        ):
            os.unlink(name, dir_fd=root.descriptor)
            self._folders.drop(root, prune(name, root.descriptor))

    def size(self, name: str) -> int:
        check_name(name)
        with self._call("size", name), self._rooted() as root:
            try:
                found = os.stat(name, dir_fd=root.descriptor, follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                raise NotFound(name) from None
            if not stat.S_ISREG(found.st_mode):
                raise NotFound(name)
            return found.st_size

    @contextlib.contextmanager
    def _rooted(self, *, to_write: bool = False) -> Iterator[OpenRoot]:
        """The store's directory, recognised, and without what dead writers left in it."""
        with self._root.opened(to_write=to_write) as root:
            if root.number != self._swept:
                self._unfinished.sweep(root)
                self._swept = root.number
            yield root

    @contextlib.contextmanager
    def _putting(self, name: str, data: Sequence[Buffer]) -> Iterator[tuple[OpenRoot, str]]:
        """The store's directory, and the path in it of a durable file with these bytes that waits for its name."""
        check_name(name)
        with (
            self._call("put", name),
            self._rooted(to_write=True) as root,
            self._unfinished.written(root, data) as unfinished,
        ):
            self._folders.make(root, os.path.dirname(name))
            yield root, unfinished

    @contextlib.contextmanager
    def _call(self, action: str, name: str) -> Iterator[None]:
        if self._broken:
            raise StoreFailed(action, name, self._broken)
        try:
            yield
        except (NotADirectoryError, IsADirectoryError):
            raise BadName(name, "it is the folder of an object, or an object is its folder") from None
        except RootLost as lost:
            raise StoreFailed(action, name, lost) from None
        except OSError as failure:
            if isinstance(failure, FileNotFoundError):
                self._folders.forget()
            raise StoreFailed(action, name, failure) from failure

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[tuple[RealFile, int]]:
        with self._rooted() as root:
            try:
                descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root.descriptor)
            except (FileNotFoundError, NotADirectoryError):
                raise NotFound(name) from None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise NotFound(name)
            yield RealFile(descriptor), found.st_size
        finally:
            os.close(descriptor)

    def _listed(self, prefix: str, after: str) -> Iterator[ObjectInfo]:
        with self._call("list", prefix), self._rooted() as root:
            yield from listed(root.descriptor, prefix, after)

    def _keep(self, root: OpenRoot, name: str) -> None:
        """Make an object's new name durable, or take it back.

        Whoever finds an object may act on it, so that a name which is not durable must not stay. If it cannot be taken
        back either (a file system that turned read-only), the store stops answering: wrong answers are worse.
        """
        try:
            sync_folder(os.path.dirname(name), root.descriptor)
        except OSError:
            try:
                os.unlink(name, dir_fd=root.descriptor)
            except OSError as failure:
                self._broken = f"a name could not be made durable, nor removed ({failure}): reopen the store"
            raise
