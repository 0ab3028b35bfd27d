"""The objects of a local store in the order of their names, folder by folder, as late as possible.

A folder is read when the listing reaches it, and only when it can hold names that are asked for. Its entries are sorted
with a `/` behind the names of folders, which is where their content belongs: `a-b`, `a.b`, `a/x`, `a0`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from holdfast.io.object_names import is_name
from holdfast.io.objects import ObjectInfo


def listed(root: str, prefix: str, after: str) -> Iterator[ObjectInfo]:
    """The objects under `root` whose name starts with `prefix` and is greater than `after`, or OSError."""
    return _listed(root, prefix[: prefix.rfind("/") + 1], prefix, after)


def _listed(root: str, folder: str, prefix: str, after: str) -> Iterator[ObjectInfo]:
    for key, entry in sorted(_wanted(root, folder, prefix, after), key=lambda pair: pair[0]):
        if key.endswith("/"):
            yield from _listed(root, key, prefix, after)
        elif info := _info(key, entry):
            yield info


def _info(name: str, entry: os.DirEntry[str]) -> ObjectInfo | None:
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None  # Deleted since its folder was read.
    return ObjectInfo(name, found.st_size, found.st_mtime_ns // 1_000_000)


def _wanted(root: str, folder: str, prefix: str, after: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
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
                yield key, entry
        elif name.startswith(prefix) and name > after:
            yield name, entry


def _entries(root: str, folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        entries = os.scandir(os.path.join(root, folder))
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.isdir(root):
            raise  # The store itself has gone: that is not an empty store.
        return
    with entries:
        yield from entries
