"""Entries in a round: batches of one partition together, everything else in rows of its own."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from holdfast.log import entry
from holdfast.log.rounds.format import Round, Row
from holdfast.record.batch import read_header, split
from holdfast.types import Buffer, PartitionId

NO_PARTITION = PartitionId(UUID(int=0), 0)


class RoundEntry(NamedTuple):
    """What was appended."""

    kind: int
    home: PartitionId
    content: Buffer


class EntryPlaces:
    """Where the contents of a round's entries are, in order: their rows, first bytes and sizes."""

    __slots__ = ("_rows", "_sizes", "_starts", "size")

    def __init__(self) -> None:
        self._rows, self._starts, self._sizes = array("I"), array("I"), array("I")
        self.size = 0  # Bytes of all of them.

    def add(self, row: int, start: int, size: int) -> None:
        self._rows.append(row)
        self._starts.append(start)
        self._sizes.append(size)
        self.size += size

    def __len__(self) -> int:
        return len(self._rows)

    def content(self, number: int, found: Round) -> memoryview:
        """The content of one entry in a round that was read."""
        start = self._starts[number]
        return memoryview(self.row(number, found).pieces[0])[start : start + self._sizes[number]]

    def row(self, number: int, found: Round) -> Row:
        return found.rows[self._rows[number]]


def lay_out(entries: Sequence[RoundEntry], kept: bytes | None) -> tuple[list[Row], EntryPlaces]:
    """The rows of a round, and where each entry is in them. `kept` has a row of its own, and is no entry."""
    pieces: list[list[Buffer]] = []
    heads: list[tuple[int, PartitionId]] = []
    sizes: list[int] = []
    places = EntryPlaces()
    by_home: dict[PartitionId, int] = {}
    for kind, home, content in entries:
        row = by_home.get(home) if kind == entry.BATCHES else None
        if row is None:
            row = len(heads)
            heads.append((kind, home))
            pieces.append([])
            sizes.append(0)
            if kind == entry.BATCHES:
                by_home[home] = row
        places.add(row, sizes[row], len(content))
        pieces[row].append(content)
        sizes[row] += len(content)
    rows = [Row(kind, home, *_offsets(kind, found), found) for (kind, home), found in zip(heads, pieces, strict=True)]
    if kept is not None:
        rows.append(Row(entry.KEPT, NO_PARTITION, 0, 0, [kept]))
    return rows, places


def _offsets(kind: int, pieces: Sequence[Buffer]) -> tuple[int, int]:
    if kind != entry.BATCHES:
        return 0, 0
    return read_header(pieces[0]).base_offset, read_header(pieces[-1]).end_offset


def entries_of(found: Round) -> Iterator[RoundEntry]:
    """The entries of a round that was read, one for each batch."""
    for row in found.rows:
        (content,) = row.pieces
        if row.kind == entry.BATCHES:
            yield from (RoundEntry(row.kind, row.home, batch) for _, batch in split(content))
        elif row.kind != entry.KEPT:
            yield RoundEntry(row.kind, row.home, content)


def places_of(found: Round) -> EntryPlaces:
    """Where these entries are."""
    places = EntryPlaces()
    for number, row in enumerate(found.rows):
        start = 0
        if row.kind == entry.BATCHES:
            for header, _ in split(row.pieces[0]):
                places.add(number, start, header.size)
                start += header.size
        elif row.kind != entry.KEPT:
            places.add(number, 0, len(row.pieces[0]))
    return places


def kept_of(found: Round) -> bytes | None:
    """What the round says is kept besides entries; None if it does not."""
    for row in found.rows:
        if row.kind == entry.KEPT:
            return bytes(row.pieces[0])
    return None
