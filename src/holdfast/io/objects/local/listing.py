"""The objects of a local store in the order of their names, folder by folder, as late as possible.

A folder is read when the listing reaches it, and only when it can hold names that are asked for. Its entries are sorted
with a `/` behind the names of folders, which is where their content belongs: `a-b`, `a.b`, `a/x`, `a0`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from holdfast.io.objects import ObjectInfo
from holdfast.io.objects.names import is_name


def listed(root: int, prefix: str, after: str) -> Iterator[ObjectInfo]:
    """The objects below the open directory whose name starts with `prefix` and is greater than `after`, or OSError."""
    return _listed(root, prefix[: prefix.rfind("/") + 1], prefix, after)


def _listed(root: int, folder: str, prefix: str, after: str) -> Iterator[ObjectInfo]:
    for key in sorted(_wanted(root, folder, prefix, after)):
        if key.endswith("/"):
            yield from _listed(root, key, prefix, after)
        elif info := _info(root, key):
            yield info


def _info(root: int, name: str) -> ObjectInfo | None:
    try:
        found = os.stat(name, dir_fd=root, follow_symlinks=False)
    except FileNotFoundError:
        return None  # Deleted since its folder was read.
    return ObjectInfo(name, found.st_size, found.st_mtime_ns // 1_000_000)


def _wanted(root: int, folder: str, prefix: str, after: str) -> Iterator[str]:
    for entry in _entries(root, folder):
        name = folder + entry.name
        if not is_name(entry.name):
            continue  # The store's own files, and what others left here.
        if entry.is_symlink():
            # Neither following it nor leaving it out is right: the one leads out of the store, the other hides objects.
            raise OSError(errno.ELOOP, "a store cannot hold symbolic links", name)
        if entry.is_dir(follow_symlinks=False):
            key = name + "/"
            if (key.startswith(prefix) or prefix.startswith(key)) and (key > after or after.startswith(key)):
                yield key
        elif name.startswith(prefix) and name > after:
            yield name


def _entries(root: int, folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        with os.scandir(descriptor) as entries:
            yield from entries
    finally:
        os.close(descriptor)
