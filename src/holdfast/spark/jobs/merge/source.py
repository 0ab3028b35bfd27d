"""What is to be merged, as a person writes it: a topic or a partition, of one cluster or of several.

orders                      a topic of the cluster at --path
orders:3                    one of its partitions
s3://bucket/b::orders       a topic of another cluster
/data/b::orders:0           one partition of another cluster
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.catalog.catalog import open_catalog
from holdfast.catalog.errors import DataLost
from holdfast.catalog.plan import Piece, pieces_of
from holdfast.catalog.store import Store
from holdfast.errors import Rejected
from holdfast.types import TopicPartition

_SOURCE = re.compile(r"(?:(?P<path>.+)::)?(?P<topic>[A-Za-z0-9._-]+)(?::(?P<partition>\d+))?")


def moved(lost: DataLost) -> None:
    """A merge holds everything that was there when it began, or nothing."""
    gone = f"{lost.where}: offsets [{lost.start}, {lost.end})"
    raise Rejected(f"{gone} went while they were merged: {lost.reason}. Run it again")


@dataclass(frozen=True)
class MergeSource:
    """One source, opened: its place in the order, and what of it can be read now."""

    number: int
    name: str
    store: Store
    pieces: tuple[Piece, ...]


def open_sources(texts: Sequence[str], path: str | None, options: Mapping[str, str] | None = None) -> list[MergeSource]:
    """All sources, as far as they are readable now. The order in which they are named is theirs in the result."""
    found = [_open(number, text, path, options) for number, text in enumerate(texts)]
    seen: dict[tuple[str, str], str] = {}
    for each in found:
        for piece in each.pieces:
            key = each.store.url, piece.home.path
            if seen.setdefault(key, each.name) != each.name:
                raise Rejected(f"{each.name} and {seen[key]} both hold {piece.topic}-{piece.home.partition}")
    return found


def _open(number: int, text: str, path: str | None, options: Mapping[str, str] | None) -> MergeSource:
    match = _SOURCE.fullmatch(text)
    if match is None:
        raise Rejected(f"{text} is no source: write TOPIC, TOPIC:PARTITION or PATH::TOPIC")
    place = match["path"] or path
    if place is None:
        raise Rejected(f"{text} does not say where it is: give --path, or write PATH::{text}")
    catalog = open_catalog(place, options, topics=[match["topic"]])
    wanted = sorted(catalog.manifests.keys() | catalog.missing)
    if match["partition"] is not None:
        wanted = [TopicPartition(match["topic"], int(match["partition"]))]
    pieces = [piece for where in wanted for piece in pieces_of(catalog, where, catalog.readable(where))]
    return MergeSource(number, text, catalog.store, tuple(pieces))
