"""Filters on the record key as a path. The server and the client run this same code.

    paths        the path itself and everything below it: `/foo` lets `/foo` and `/foo/a` pass, not `/foobar`; `/foo/`
                 only what is below; `/` everything that is a path, that is, starts with a slash
    plain        everything that starts with these bytes: `/foo` lets `/foobar` pass, too
    directories  what lies directly in the directory: `/foo` lets `/foo/a` pass, not `/foo/a/b`, not `/foo`

A record passes if one of them lets it. Without any of them all keys pass, also none at all. The log's own folder,
`/.system/log/`, never passes a filter. A subscription without a filter does not look at keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.record.columnar.columns import Binary
from holdfast.subscribe.errors import BadFilter

INTERNAL = b"/.system/log/"
EXACT, PREFIX, DIRECTORY = range(3)  # What `filter_loops` knows.


@dataclass(frozen=True, slots=True)
class Filter:
    """Which keys pass."""

    paths: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for path in (*self.paths, *self.directories):
            _check_path(path)
        for text in self.plain:
            if not text:
                raise BadFilter(text, "an empty prefix lets everything pass: leave it out")
            _check_reachable(text)

    @classmethod
    def of(cls, paths: str | Iterable[str]) -> Filter:
        """A filter on one path or several."""
        return cls(paths=(paths,) if isinstance(paths, str) else tuple(paths))

    def mask(self, keys: Binary) -> NDArray[np.bool_]:
        """Which of the keys pass."""
        from holdfast.subscribe import filter_loops as loops  # Here: without C it loads numba.

        kinds, ends, data = self._needles()
        passed = np.zeros(len(keys), np.bool_)
        loops.match(keys.ends, keys.data, _validity(keys), kinds, ends, data, np.frombuffer(INTERNAL, np.uint8), passed)
        return passed

    def _needles(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        rows = list(self._rules())
        data = b"".join(needle for _, needle in rows)
        ends = np.cumsum([0, *(len(needle) for _, needle in rows)], dtype=np.int64)
        return np.array([kind for kind, _ in rows], np.int64), ends, np.frombuffer(data, np.uint8)

    def _rules(self) -> Iterator[tuple[int, bytes]]:
        for path in self.paths:
            if not path.endswith("/"):
                yield EXACT, path.encode()
            yield PREFIX, path.rstrip("/").encode() + b"/"
        for text in self.plain:
            yield PREFIX, text.encode()
        for directory in self.directories:
            yield DIRECTORY, directory.rstrip("/").encode() + b"/"


def _check_path(path: str) -> None:
    if not path.startswith("/"):
        raise BadFilter(path, "a path starts with a slash; ask for a plain prefix if that is meant")
    if "//" in path:
        raise BadFilter(path, "a part of it is empty")
    _check_reachable(path)


def _check_reachable(text: str) -> None:
    if text.encode().startswith(INTERNAL):
        raise BadFilter(text, "the log's own folder is never shown")


def _validity(keys: Binary) -> NDArray[np.uint8]:
    return np.empty(0, np.uint8) if keys.validity is None else keys.validity
