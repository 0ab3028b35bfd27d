"""An object store whose small puts may use the reserve of a disk: what frees space must be written down first.

A store in a directory may lie on the disk of the write-ahead log. When that disk is full, a list of topics without one,
or a manifest with fewer segments, can only be put out of the reserve, and these are the ways back.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from typing import Protocol
from urllib.parse import unquote, urlsplit

from holdfast.io.disk.reserve import NO_SPACE
from holdfast.io.objects import ObjectInfo, Objects, StoreFailed, fill
from holdfast.types import Buffer

SMALL = 1 << 20  # Bytes. A segment is larger: it would take what the way back needs.


class ReservedSpace(Protocol):
    """A disk with a reserve."""

    path: str

    def make_room_for_store(self) -> bool:
        """Give the reserve up; whether a write may find space now."""

    def may_take(self, size: int) -> bool:
        """Whether so many bytes leave enough of a reserve that was given up."""


class ReservedObjects:
    """Passes every call on to `inner`. A small put that finds no space is made once more, if there is some then.

    A large one is refused where it would take, if only until it fails, what the small ones were given.
    """

    def __init__(self, inner: Objects, space: ReservedSpace) -> None:
        self.url = inner.url
        self._inner = inner
        self._space = space

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        self._check_room(name, data)
        try:
            self._inner.put_if_absent(name, data)
        except StoreFailed as failure:
            self._check_worth_trying(failure, data)
            self._inner.put_if_absent(name, data)

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        self._check_room(name, data)
        try:
            self._inner.put(name, data)
        except StoreFailed as failure:
            self._check_worth_trying(failure, data)
            self._inner.put(name, data)

    def _check_worth_trying(self, failure: StoreFailed, data: Sequence[Buffer]) -> None:
        cause = failure.cause
        full = isinstance(cause, OSError) and cause.errno in NO_SPACE
        if not full or sum(map(len, data)) > SMALL or not self._space.make_room_for_store():
            raise failure

    def _check_room(self, name: str, data: Sequence[Buffer]) -> None:
        size = sum(map(len, data))
        if size > SMALL and not self._space.may_take(size) and _on_one_disk(self.url, self._space.path):
            raise StoreFailed("put", name, OSError(errno.ENOSPC, "what is left of the disk is kept for the way back"))

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        return self._inner.get(name, start, end)

    def get_into(self, name: str, start: int, into: memoryview) -> int:
        return fill(self._inner, name, start, into)

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        return self._inner.list(prefix, after)

    def delete(self, name: str) -> None:
        self._inner.delete(name)

    def size(self, name: str) -> int:
        return self._inner.size(name)


def _on_one_disk(url: str, path: str) -> bool:
    """Whether a store lies on the file system of a path."""
    try:
        return url.startswith("file:") and os.stat(unquote(urlsplit(url).path)).st_dev == os.stat(path).st_dev
    except OSError:
        return False
