"""What a sink remembers of what it wrote: an offset of a group of its own, committed in the same transaction.

The group is named by the sink. The offset is the batch's number; its text says the rest, as JSON:

    {"serial": 8, "query": "…", "run": "…", "batch": 7, "past": ["…"]}

It is kept with one partition of each topic that the transaction wrote to, since offsets belong to partitions; the one
with the highest serial counts. `past` are earlier runs: one of them that comes back is told that it was taken over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from holdfast.client import Client, Committed
from holdfast.errors import Corrupt
from holdfast.spark.sink.errors import BatchGoneBack, SinkTakenOver
from holdfast.types import TopicPartition

_PAST_MAX = 32  # Runs that are remembered; the text stays below the 4,096 bytes that brokers keep.


@dataclass(frozen=True)
class BatchKey:
    """Which batch: of a query (for ever) in a run of it (until the driver ends)."""

    query: str
    run: str
    batch: int


@dataclass(frozen=True)
class Recorded:
    """The last batch that a sink wrote."""

    serial: int
    query: str
    run: str
    batch: int
    past: tuple[str, ...] = ()


def name_of(sink: str) -> str:
    """The transactional id of a sink, and its group's name."""
    return f"holdfast-sink-{sink}"


def read_record(client: Client, sink: str) -> Recorded | None:
    """What the sink wrote last. Transactions that are being decided are waited for."""
    found = client.fetch_offsets(name_of(sink), stable=True)
    records = [_parse(sink, where, each) for where, each in found.items()]
    return max(records, key=lambda each: each.serial, default=None)


def _parse(sink: str, where: TopicPartition, committed: Committed) -> Recorded:
    try:
        fields = json.loads(committed.metadata)
        return Recorded(**{**fields, "past": tuple(fields["past"])})
    except (ValueError, TypeError, KeyError) as failure:
        raise Corrupt(
            f"the offset of {where} of group {name_of(sink)} is none that a sink has written: choose another sinkId"
        ) from failure


def is_written(sink: str, recorded: Recorded | None, key: BatchKey) -> bool:
    """Whether this batch is in the topics already; raises where it must not be written at all."""
    if recorded is None:
        return False
    if key.run in recorded.past:
        raise SinkTakenOver(sink, key.run, recorded.run)
    if key.query != recorded.query or key.batch > recorded.batch:
        return False
    if key.batch < recorded.batch:
        raise BatchGoneBack(sink, key.batch, recorded.batch)
    return True


def next_record(recorded: Recorded | None, key: BatchKey) -> Recorded:
    """What to remember once this batch is written."""
    if recorded is None:
        return Recorded(1, key.query, key.run, key.batch)
    past = recorded.past
    if recorded.run != key.run:
        past = (*past, recorded.run)[-_PAST_MAX:]
    return Recorded(recorded.serial + 1, key.query, key.run, key.batch, past)


class BatchMemory:
    """The memory of a sink for one batch of a query."""

    def __init__(self, sink: str, key: BatchKey) -> None:
        self._sink = sink
        self._key = key
        self._recorded: Recorded | None = None

    def is_written(self, client: Client) -> bool:
        self._recorded = read_record(client, self._sink)
        return is_written(self._sink, self._recorded, self._key)

    def offsets(self, written: Sequence[TopicPartition]) -> Mapping[tuple[str, int], tuple[int, str]]:
        return offsets_of(next_record(self._recorded, self._key), written)


def offsets_of(record: Recorded, written: Iterable[TopicPartition]) -> Mapping[tuple[str, int], tuple[int, str]]:
    """The offsets to commit: one partition of each topic."""
    text = json.dumps(asdict(record), separators=(",", ":"))
    lowest: dict[str, int] = {}
    for topic, partition in written:
        lowest[topic] = min(partition, lowest.get(topic, partition))
    return dict.fromkeys(lowest.items(), (record.batch, text))
