"""Staging: executors encode rows into batches and put them into the store, where no reader looks.

    staging/<sink>-<job>-<task>-<attempt>-<tag>-<number>.batches

An object is batches one after the other, as they will be sent but for the producer's fields; which bytes are for which
partition is in the message that the task sends to the driver. An object that no message names is garbage: see
`staging_sweep`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from holdfast.client import Client
from holdfast.client.errors import Refused, TopicNotFound
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.io.objects import Objects
from holdfast.protocol.codes import Code
from holdfast.record.columnar.arrow import from_arrow
from holdfast.record.columnar.columns import Columns
from holdfast.record.columnar.cut import BatchCut, cut
from holdfast.spark.sink.columns import ColumnPlaces, RowPartitioner, RowTarget, record_columns
from holdfast.spark.sink.errors import RowTooLarge
from holdfast.spark.sink.options import SinkOptions
from holdfast.types import TopicPartition

STAGING = "staging/"

_GATHER_SIZE = 32 << 20  # Bytes of rows that are encoded together, and make one object.
_BATCH_SIZE = 900 << 10  # Before compression: below the megabyte that brokers take, unless told otherwise.
_SHARE = 0.9  # Of what a topic takes: what does not compress grows a little, and there is a header.
_BATCH_COUNT = 100_000
_MESSAGE_SIZE_MAX = 1_048_588  # Kafka's default of max.message.bytes.


_concat: Any = getattr(pa, "concat_batches")  # noqa: B009 - The stubs do not know it.


class StagedPart(NamedTuple):
    """Bytes of an object that are for one partition."""

    where: TopicPartition
    start: int
    end: int
    record_count: int


class StagedObject(NamedTuple):
    """One object, and what is in it."""

    name: str
    size: int
    parts: tuple[StagedPart, ...]


class Job(NamedTuple):
    """Whose staged objects they are."""

    sink: str
    name: str

    @property
    def prefix(self) -> str:
        """What the names of all its objects start with. Ids may have any character, so they are hashed.

        All lie in one folder: in a local directory folders stay when they are empty, and there would be one a batch.
        """
        return f"{STAGING}{_digest(self.sink)}-{_digest(self.name)}-"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Targets:
    """Looks topics up, each once; makes those that are not there, if that was asked for."""

    def __init__(self, client: Client, create: int = 0) -> None:
        self._client = client
        self._create = create  # With so many partitions.
        self._found: dict[str, RowTarget] = {}

    def __call__(self, topic: str) -> RowTarget:
        if topic not in self._found:
            count = self._count(topic)
            limit = self._client.describe_configs(topic, ["max.message.bytes"]).get("max.message.bytes")
            self._found[topic] = RowTarget(topic, count, int(limit or _MESSAGE_SIZE_MAX))
        return self._found[topic]

    def _count(self, topic: str) -> int:
        try:
            return len(self._client.topic(topic).partitions)
        except TopicNotFound:
            if not self._create:
                raise
        try:
            self._client.create_topics({topic: self._create})
        except Refused as failure:  # Another task was quicker.
            if failure.code != Code.TOPIC_ALREADY_EXISTS:
                raise
        return len(self._client.topic(topic).partitions)


class Stager:
    """One task: rows in, staged objects out."""

    def __init__(
        self, options: SinkOptions, objects: Objects, targets: Targets, clock: Clock, chance: Chance, prefix: str
    ) -> None:
        self._options = options
        self._objects = objects
        self._clock = clock
        self._chooser = RowPartitioner(targets, options.topic, chance.bits(16), _BATCH_SIZE)
        self._prefix = f"{prefix}-{chance.bits(64):016x}"
        self._staged: list[StagedObject] = []

    def stage(self, batches: Iterable[pa.RecordBatch]) -> list[StagedObject]:
        """All rows of the task."""
        for gathered in gather(batches, _GATHER_SIZE):
            self._put(gathered)
        return self._staged

    def _put(self, rows: pa.RecordBatch) -> None:
        options = self._options
        wanted = record_columns(rows, include_timestamp=options.include_timestamp, json_values=options.json_values)
        columns = from_arrow(wanted, self._clock.now_ms())
        places = self._chooser.choose(rows, columns)
        pieces = list(self._pieces(columns, places))
        name = f"{self._prefix}-{len(self._staged)}.batches"
        self._objects.put(name, [piece.batch for piece in pieces])  # No other has this name: a retry is harmless.
        parts = tuple(_parts(pieces, places))
        self._staged.append(StagedObject(name, parts[-1].end, parts))

    def _pieces(self, columns: Columns, places: ColumnPlaces) -> Iterator[BatchCut]:
        size_max = min(_BATCH_SIZE, *(int(each.batch_size_max * _SHARE) for each in places.targets))
        for piece in cut(columns, places.of_rows, size_max=size_max, count_max=_BATCH_COUNT, codec=self._options.codec):
            target, _ = places.find(piece.place)
            if len(piece.batch) > target.batch_size_max:
                raise RowTooLarge(target.topic, len(piece.batch), target.batch_size_max)
            yield piece


def gather(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Larger batches of about `size` bytes; none is empty."""
    waiting: list[pa.RecordBatch] = []
    waiting_size = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            waiting_size += batch.nbytes
        if waiting_size >= size:
            yield _joined(waiting)
            waiting, waiting_size = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else _concat(batches)


def _parts(pieces: Iterable[BatchCut], places: ColumnPlaces) -> Iterator[StagedPart]:
    """Runs of batches for one partition; they come place after place."""
    current, start, end, count = -1, 0, 0, 0
    for piece in pieces:
        if piece.place != current and end:
            yield _part(places, current, start, end, count)
            start, count = end, 0
        current = piece.place
        end += len(piece.batch)
        count += piece.record_count
    yield _part(places, current, start, end, count)


def _part(places: ColumnPlaces, place: int, start: int, end: int, count: int) -> StagedPart:
    target, partition = places.find(place)
    return StagedPart(TopicPartition(target.topic, partition), start, end, count)
