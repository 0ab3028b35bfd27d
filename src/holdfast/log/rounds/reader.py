"""Which round has which entry, how much that is, and the way back from there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from holdfast.errors import Corrupt
from holdfast.io.objects import NotFound
from holdfast.log import entry
from holdfast.log.rounds.format import Round
from holdfast.log.rounds.layout import EntryPlaces
from holdfast.log.rounds.series import Series
from holdfast.wal import Entry, LogId
from holdfast.wal.read import RawFrame

ROUND_COST = 256 << 10  # Bytes that a round counts at least: a takeover's time is one of rounds, too.

PLACE_SIZE = 12  # Bytes of memory for where an entry is.


class Where(NamedTuple):
    """One round, ours or another life's."""

    end: int  # Behind the index of its last entry.
    start: int
    at: int  # Bytes of all rounds before it.
    series: Series
    number: int
    places: EntryPlaces


_END = attrgetter("end")


class RoundReader:
    """Its user holds a lock, but for `entries` and `raw`, which ask the store."""

    def __init__(self) -> None:
        self._where: list[Where] = []
        self._held: dict[tuple[Series, int], Round] = {}  # Read at the start, and kept until they are asked for.
        self._end_at = 0

    def __len__(self) -> int:
        return len(self._where)

    def add(self, start: int, series: Series, number: int, places: EntryPlaces) -> None:
        """A round has entries from this index on."""
        self._where.append(Where(start + len(places), start, self._end_at, series, number, places))
        self._end_at += max(places.size, ROUND_COST)

    def hold(self, series: Series, found: Round) -> None:
        self._held[series, found.header.number] = found

    def release(self, index: int) -> None:
        """Nothing below this entry is asked for any more."""
        del self._where[: self._at(index)]

    def _at(self, index: int) -> int:
        return bisect_right(self._where, index, key=_END)

    @property
    def end(self) -> int:
        """Bytes of all rounds so far."""
        return self._end_at

    def size_from(self, index: int) -> int:
        """Bytes of the rounds from an entry on, each counted as one of some size at least."""
        first = self._at(index)
        return self._end_at - self._where[first].at if first < len(self._where) else 0

    def find(self, start: int, end: int) -> list[Where]:
        """The rounds that have the entries `[start, end)`."""
        return [each for each in self._where[self._at(start) :] if each.start < end]

    def entries(self, found: list[Where], start: int, end: int) -> Iterator[Entry]:
        """Entries as they were appended. Blocks."""
        for where in found:
            rows = self._get(where)
            for index in range(max(start, where.start), min(end, where.end)):
                row = where.places.row(index - where.start, rows)
                content = where.places.content(index - where.start, rows)
                yield Entry(LogId(0, index), entry.encode_prefix(row.kind, row.home) + content)

    def _get(self, where: Where) -> Round:
        held = self._held.pop((where.series, where.number), None)
        if held is not None:
            return held
        try:
            return where.series.get(where.number)
        except NotFound as missing:
            raise Corrupt(f"{missing.name} is gone, and was still needed") from missing


def raw(where: Where) -> RawFrame:
    """A round, right or wrong. Blocks."""
    name = where.series.name(where.number)
    return RawFrame(name, 0, where.series.objects.get(name))
