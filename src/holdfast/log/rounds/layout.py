"""Entries in a round: batches of one partition together, everything else in rows of its own."""

from __future__ import annotations

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


class EntryPlace(NamedTuple):
    """Where an entry's content is in a round."""

    row: int
    start: int
    size: int


def lay_out(entries: Sequence[RoundEntry], kept: bytes | None) -> tuple[list[Row], list[EntryPlace]]:
    """The rows of a round, and where each entry is in them. `kept` has a row of its own, and is no entry."""
    pieces: list[list[Buffer]] = []
    heads: list[tuple[int, PartitionId]] = []
    sizes: list[int] = []
    places: list[EntryPlace] = []
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
        places.append(EntryPlace(row, sizes[row], len(content)))
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


def entries_of(found: Round) -> Iterator[tuple[RoundEntry, EntryPlace]]:
    """The entries of a round that was read, one for each batch, with their places."""
    for number, row in enumerate(found.rows):
        (content,) = row.pieces
        if row.kind == entry.BATCHES:
            start = 0
            for header, batch in split(content):
                yield RoundEntry(row.kind, row.home, batch), EntryPlace(number, start, header.size)
                start += header.size
        elif row.kind != entry.KEPT:
            yield RoundEntry(row.kind, row.home, content), EntryPlace(number, 0, len(content))


def kept_of(found: Round) -> bytes | None:
    """What the round says is kept besides entries; None if it does not."""
    for row in found.rows:
        if row.kind == entry.KEPT:
            return bytes(row.pieces[0])
    return None
