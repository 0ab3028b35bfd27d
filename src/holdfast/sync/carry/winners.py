"""The last writer wins: on compacted topics that go both ways, for each key the latest write stays on both sides.

Later is: the higher timestamp; of equal ones the higher cluster id (its first eight bytes); of one cluster's the higher
offset. A compacted topic keeps the last record of a key, so the latest write must also be the last in the log:

- a record of the source goes to the target only if it is later than all that the target has of its key;
- the target's log is followed, and where a record lies behind a later write, that write is put behind it once more.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.client import Client
from holdfast.errors import Rejected
from holdfast.io.chance import Chance
from holdfast.record.columnar.columns import Column, Columns
from holdfast.record.columnar.decode import Decoder
from holdfast.record.unreadable import telling
from holdfast.sync.origin.marking import Numbers, OriginMarks, Truths
from holdfast.sync.origin.scan import bounds, read_range
from holdfast.types import ClusterPartition, TopicPartition

log = logging.getLogger(__name__)

_KEYS_FIRST = 1 << 10
_KEYS_MAX = 1 << 24  # Keys of one partition: 800 MiB of table.
_EVERYTHING = Column.KEY | Column.VALUE | Column.HEADERS


class Again(NamedTuple):
    """A record of the target to be written once more, with the mark that tells where it was produced."""

    columns: Columns
    rows: Numbers


class Winners:
    """The latest write of each key of one partition of the target. Belongs to its lane's thread."""

    def __init__(self, where: TopicPartition, home: ClusterPartition, back: ClusterPartition, chance: Chance) -> None:
        self._where = where
        self._home, self._back = home, back
        self._chance = chance
        self._secret = np.array([chance.bits(64), chance.bits(64)], np.uint64)
        self._table = self._empty(_KEYS_FIRST)
        self._count = 0
        self.followed = 0  # How far the target was read.

    def anew(self) -> Winners:
        """For the same partition, to be read from its start."""
        return Winners(self._where, self._home, self._back, self._chance)

    @staticmethod
    def _empty(slots: int) -> NDArray[np.int64]:
        return np.full((slots, 6), -1, np.int64)

    def follow(self, target: Client) -> Iterator[Again]:
        """Read the target on; the writes that must be put behind others once more, with the marks they are to have."""
        start, end = bounds(target, self._where)
        lost: dict[int, None] = {}  # Places of winners, in order.
        for _, columns in read_range(target, self._where, max(start, self.followed), end, Column.KEY | Column.HEADERS):
            new = columns.offset >= self.followed
            for place in self.meet(columns, new):
                lost[place] = None
        self.followed = max(self.followed, end)
        current = self._current(lost)
        for place in lost:
            if place in current:
                yield from self._again(target, place)

    def _current(self, lost: dict[int, None]) -> set[int]:
        """Places that still hold the latest write of their key."""
        return set(self._table[np.isin(self._table[:, 5], list(lost)), 5].tolist())

    def meet(self, columns: Columns, new: Truths) -> list[int]:
        """Learn of the target's next records; the places of winners that now have a losing record behind them."""
        from holdfast.sync.carry import winner_loops as loops

        rows = np.flatnonzero(new)
        lows, highs, times, ranks, offsets = (each[rows] for each in self._versions(columns, self._back))
        winners = np.empty(len(rows), np.int64)
        self._make_room(len(rows))
        places = columns.offset[rows]
        self._count += loops.meet(self._table, lows, highs, times, ranks, offsets, places, winners)
        return [each for each in winners.tolist() if each not in (loops.FREE, loops.COMING)]

    def choose(self, columns: Columns, wanted: Truths) -> Truths:
        """Of the wanted records of the source those that are later than all that the target has of their keys."""
        from holdfast.sync.carry import winner_loops as loops

        self._make_room(int(np.count_nonzero(wanted)))
        chosen = wanted.copy()
        self._count += loops.choose(self._table, *self._versions(columns, self._home), chosen)
        return chosen

    def _versions(self, columns: Columns, home: ClusterPartition) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
        """Hashes of keys, times, ranks and offsets where records were produced."""
        from holdfast.segment.compaction import key_loops
        from holdfast.sync.carry import winner_loops as loops

        assert columns.key is not None
        lows, highs = np.empty(len(columns), np.uint64), np.empty(len(columns), np.uint64)
        key_loops.hash_keys(columns.key.ends, columns.key.data, self._secret, lows, highs)
        marks = OriginMarks.of(columns)
        _, last_hops = marks.came_through(home)
        ranks, offsets = np.empty(len(columns), np.int64), columns.offset.copy()
        rank = _rank(home.cluster_id)
        loops.rank_of(marks.found, last_hops, marks.headers.values.data, rank, ranks, offsets)
        return lows.view(np.int64), highs.view(np.int64), columns.timestamp, ranks, offsets

    def _make_room(self, more: int) -> None:
        from holdfast.sync.carry import winner_loops as loops

        slots = len(self._table)
        while (self._count + more) * 4 > slots * 3:
            slots *= 2
        if slots > 2 * _KEYS_MAX:
            many = f"{self._where} has more than {_KEYS_MAX} keys"
            raise Rejected(f"{many}: sync it one way, or give the topic more partitions")
        if slots > len(self._table):
            larger = self._empty(slots)
            loops.move(self._table, larger)
            self._table = larger

    def _again(self, target: Client, place: int) -> Iterator[Again]:
        """One record of the target, to be written behind its end."""
        fetched = target.fetch({self._where: place}, committed=False)[self._where]
        beside = telling(lambda one: log.warning("%s: %s", self._where, one), place, place + 1)
        columns = Decoder(_EVERYTHING, place=str(self._where), skip=beside).decode([fetched.records])
        rows = np.flatnonzero(columns.offset == place)
        if fetched.error is not None or not len(rows):
            return  # Compaction was quicker: a later record of the key is there.
        marks = OriginMarks.of(columns)
        yield Again(columns if marks.found[rows[0]] >= 0 else marks.with_hop(self._back), rows)


def _rank(cluster_id: str) -> int:
    """The first eight bytes of a cluster id as a number; ids are ASCII, so it is never negative."""
    return int.from_bytes(cluster_id.encode()[:8].ljust(8, b"\0"), "big", signed=True)
