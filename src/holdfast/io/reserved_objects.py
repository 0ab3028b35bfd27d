"""An object store whose small puts may use the reserve of a disk: what frees space must be written down first.

A store in a directory may lie on the disk of the write-ahead log. When that disk is full, a list of topics without one,
or a manifest with fewer segments, can only be put out of the reserve, and these are the ways back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from holdfast.io.objects import ObjectInfo, Objects, StoreFailed
from holdfast.io.reserve import NO_SPACE
from holdfast.types import Buffer

SMALL = 1 << 20  # Bytes. A segment is larger: it would take what the way back needs.


class ReservedObjects:
    """Passes every call on to `inner`. A small put that finds no space is made once more, if there is some then."""

    def __init__(self, inner: Objects, make_room: Callable[[], bool]) -> None:
        """`make_room` gives the reserve up, and says whether it has."""
        self.url = inner.url
        self._inner = inner
        self._make_room = make_room

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        try:
            self._inner.put_if_absent(name, data)
        except StoreFailed as failure:
            self._check_worth_trying(failure, data)
            self._inner.put_if_absent(name, data)

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        try:
            self._inner.put(name, data)
        except StoreFailed as failure:
            self._check_worth_trying(failure, data)
            self._inner.put(name, data)

    def _check_worth_trying(self, failure: StoreFailed, data: Sequence[Buffer]) -> None:
        cause = failure.cause
        full = isinstance(cause, OSError) and cause.errno in NO_SPACE
        if not full or sum(map(len, data)) > SMALL or not self._make_room():
            raise failure

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        return self._inner.get(name, start, end)

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        return self._inner.list(prefix, after)

    def delete(self, name: str) -> None:
        self._inner.delete(name)

    def size(self, name: str) -> int:
        return self._inner.size(name)
