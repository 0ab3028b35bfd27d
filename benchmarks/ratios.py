"""Ratios to peers, picked out of the stored tables: the few that a reader wants first, and all in which we lose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.stored import Stored
from benchmarks.tables import Table

_PEER = re.compile(r"÷ (.+)|x (Kafka consumer)|times less CPU than (?:the )?(.+)")
_LESS_IS_BETTER = ("What it costs the broker", "What a request costs the broker")
_OTHERS = (": parquet", ": connector on holdfast", "Kafka consumer (librdkafka), no merge")  # Rows that are not ours.
_INTERNAL = ("Aims", "Simulated costs", "Cost of looking into records")  # No peers in them, or the same ratios again.
_TITLED = ("log", "spark")  # Their rows are only told apart with a piece of the table's title.
LIMIT = "raw"  # The bare disk: a limit, and no peer.


class Ratio(NamedTuple):
    """Ours against a peer's, the median first."""

    benchmark: str
    what: str
    peer: str
    text: str
    less_is_better: bool

    @property
    def median(self) -> float:
        return float(self.text.split()[0].replace(",", ""))

    @property
    def is_lost(self) -> bool:
        if self.peer == LIMIT:
            return False
        return self.median > 1 if self.less_is_better else self.median < 1


def all_ratios(stored: Stored) -> Iterator[Ratio]:
    """Every cell of a column that compares with a peer."""
    for table in stored.tables:
        if table.title in _INTERNAL:
            continue
        names = _names(table)
        title = [table.title.partition(":")[0].rpartition(", ")[2]] if stored.name in _TITLED else []
        for row in table.rows:
            what = ", ".join([*title, *(cell for cell in row[:names] if cell)])
            if what.endswith(_OTHERS):
                continue
            for number, peer in _peers(table):
                if row[number]:
                    yield Ratio(stored.name, what, peer, row[number], table.title in _LESS_IS_BETTER)


def _names(table: Table) -> int:
    """How many columns say what a row is about: those before the first with figures in it."""
    for number in range(1, len(table.columns)):
        if any(re.fullmatch(r"[\d,.]+( \(.*\))?", row[number]) for row in table.rows):
            return number
    return 1


def _peers(table: Table) -> list[tuple[int, str]]:
    found = [(number, _PEER.search(column)) for number, column in enumerate(table.columns)]
    # Later columns of one name, such as those of narrow reads, are told apart by the column before them.
    return [(number, next(filter(None, each.groups())) + _kind(table, number)) for number, each in found if each]


def _kind(table: Table, number: int) -> str:
    return ", narrow" if "narrow" in table.columns[number - 1] else ""


# What a reader wants first: the benchmark, the row, the peer, and the words for it.
_FIRST: Sequence[tuple[str, str, str, str]] = (
    ("wal", "flush after each, synchronous, 1024 B", "raft-log", "append and fsync 1 KiB, entries/s"),
    ("wal", "64 appenders, peer waits 1 ms, 1024 B", "raft-log", "64 appenders of 1 KiB, entries/s"),
    ("wal", "open and replay, 1,000 per append, 1024 B", "raft-log", "open and replay, entries/s"),
    ("broker", "librdkafka produce 1024 B, large batches", "kafka + fsync", "produce 1 KiB, librdkafka, records/s"),
    ("broker", "librdkafka produce 1024 B, large batches", "kafka", "produce 1 KiB, librdkafka, records/s"),
    (
        "broker",
        "one record per request, 64 producers",
        "kafka + fsync",
        "64 producers, one record each time, records/s",
    ),
    ("broker", "transactions of one record, implicit, 16 producers", "kafka + fsync", "transactions of one record, /s"),
    ("broker", "transactions of one record, implicit, 16 producers", "kafka", "transactions of one record, /s"),
    ("broker", "librdkafka consume 1024 B", "kafka", "consume 1 KiB, librdkafka, records/s"),
    ("broker", "Java consume 1024 B", "kafka", "consume 1 KiB, Java, records/s"),
    (
        "spark",
        "values of 100 B, count: holdfast",
        "connector on Kafka",
        "Spark reads a topic, rows per CPU s",
    ),
    (
        "spark",
        "values of 100 B, archive to Parquet: holdfast",
        "connector on Kafka",
        "Spark archives a topic, rows per CPU s",
    ),
    ("subscribe", "disk, references, Arrow batches", "Kafka consumer", "subscription to three sources, events/s"),
)


def first_ratios(every: Sequence[Stored]) -> list[Ratio]:
    """Those that are there; a peer may not have been at hand."""
    found: dict[tuple[str, str, str], Ratio] = {}
    for stored in every:
        for each in all_ratios(stored):
            found.setdefault((each.benchmark, each.what, each.peer), each)
    return [found[key]._replace(what=told) for *key_, told in _FIRST if (key := tuple(key_)) in found]  # type: ignore[comparison-overlap]
