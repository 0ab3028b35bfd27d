"""Where the application stands: what was handed to it, lane by lane. Cursors are made of this.

Also the table of lanes: what the numbers in the rows mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.subscribe.cursor import Cursor, CursorPoint, PartitionPosition
from holdfast.subscribe.errors import BadRequest
from holdfast.subscribe.merge.piece import NO_EPOCH, NO_TIME, Position
from holdfast.subscribe.merge.rows import Rows
from holdfast.types import ClusterPartition


class LanePosition(NamedTuple):
    """One partition that is followed."""

    source: str  # The name of its cluster in this subscription.
    topic: str
    partition: int
    topic_id: UUID
    cluster_id: str

    @property
    def key(self) -> ClusterPartition:
        return ClusterPartition(self.cluster_id, self.topic_id, self.partition)


class Lanes:
    """All lanes by number. Numbers are never used again."""

    def __init__(self) -> None:
        self.rows: list[LanePosition] = []
        self._numbers: dict[ClusterPartition, int] = {}
        self._sources: dict[str, str] = {}  # Of each cluster.
        self._columns: tuple[Any, ...] | None = None

    def add(self, lane: LanePosition) -> int:
        """The lane's number; one that is known keeps its own. A cursor knows clusters, so each has one name only."""
        source = self._sources.setdefault(lane.cluster_id, lane.source)
        if source != lane.source:
            raise BadRequest(f"{source} and {lane.source} are one cluster, {lane.cluster_id}: follow it under one name")
        number = self._numbers.get(lane.key)
        if number is None:
            number = self._numbers[lane.key] = len(self.rows)
            self.rows.append(lane)
            self._columns = None
        return number

    def ranks(self) -> NDArray[np.int32]:
        """Each lane's place in the order of (source, topic, partition)."""
        ranks = np.empty(len(self.rows), np.int32)
        ranks[sorted(range(len(self.rows)), key=self.rows.__getitem__)] = np.arange(len(self.rows), dtype=np.int32)
        return ranks

    def name(self, batch: Any) -> Any:
        """The record batch that the application gets: source, topic and partition instead of lane numbers."""
        if self._columns is None:
            self._columns = (
                *_dictionary([each.source for each in self.rows]),
                *_dictionary([each.topic for each in self.rows]),
                np.array([each.partition for each in self.rows], np.int32),
            )
        source_of, sources, topic_of, topics, partition_of = self._columns
        lanes = batch.column("lane").to_numpy()
        named: dict[str, Any] = {
            "source": pa.DictionaryArray.from_arrays(pa.array(source_of[lanes]), sources),
            "topic": pa.DictionaryArray.from_arrays(pa.array(topic_of[lanes]), topics),
            "partition": pa.array(partition_of[lanes]),
        }
        for column in ("offset", "timestamp", "timestamp_type", "key", "value", "headers", "late"):
            named[column] = batch.column(column)
        return pa.RecordBatch.from_arrays(list(named.values()), names=list(named))


def _dictionary(texts: Sequence[str]) -> tuple[NDArray[np.int32], Any]:
    found = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return np.array([found[text] for text in texts], np.int32), pa.array(list(found), pa.string())


class Positions:
    """The position of each lane, and the point of the merge."""

    def __init__(self, lanes: Lanes, cursor: Cursor | None = None) -> None:
        self._lanes = lanes
        self._offsets = np.empty(0, np.int64)
        self._epochs = np.empty(0, np.int32)
        self._times = np.empty(0, np.int64)
        self._point: tuple[int, int] | None = None  # Order time and lane.
        self._begun = cursor or Cursor()  # Lanes that no server has named yet.

    def copy(self) -> Positions:
        """What does not change when this does."""
        made = Positions(self._lanes, self._begun)
        made._offsets, made._epochs, made._times = self._offsets.copy(), self._epochs.copy(), self._times.copy()
        made._point = self._point
        return made

    def begin(self, number: int, position: Position) -> None:
        """A lane starts here; one that was begun before stays where it is."""
        self._grow(number + 1)
        if self._offsets[number] < 0:
            self._set(number, position)

    def _grow(self, count: int) -> None:
        more = count - len(self._offsets)
        if more > 0:
            self._offsets = np.concatenate((self._offsets, np.full(more, -1, np.int64)))
            self._epochs = np.concatenate((self._epochs, np.full(more, NO_EPOCH, np.int32)))
            self._times = np.concatenate((self._times, np.full(more, NO_TIME, np.int64)))

    def _set(self, number: int, position: Position) -> None:
        if position.epoch != NO_EPOCH or position.offset > self._offsets[number]:
            self._epochs[number] = position.epoch  # Behind what was skipped the old one would be wrong.
        self._offsets[number] = position.offset
        self._times[number] = max(self._times[number], position.order_time)

    def offset(self, number: int) -> int:
        return int(self._offsets[number])

    def deliver(self, rows: Rows) -> None:
        """These rows are handed out. Of several rows of a lane the last one counts."""
        if not len(rows):
            return
        lanes, offsets, epochs, times = rows.marks()
        self._offsets[lanes] = offsets + 1
        self._epochs[lanes] = epochs
        self._times[lanes] = times
        last = int(times[-1]), int(lanes[-1])
        if not rows.late and (self._point is None or last[0] >= self._point[0]):
            self._point = last

    def move(self, after: Mapping[int, Position]) -> bool:
        """Lanes stand behind rows that were not handed out, because they did not pass. Whether any is further now."""
        moved = False
        for number, position in after.items():
            if position.offset >= self._offsets[number]:
                moved |= bool(position.offset > self._offsets[number])
                self._set(number, position)
        return moved

    def cursor(self) -> Cursor:
        """Where to go on."""
        places = dict(self._begun.places)
        for number, lane in enumerate(self._lanes.rows[: len(self._offsets)]):
            position = Position(int(self._offsets[number]), int(self._epochs[number]), int(self._times[number]))
            places[lane.key] = PartitionPosition(lane.topic, position)
        return Cursor(places, self._cursor_point())

    def _cursor_point(self) -> CursorPoint | None:
        if self._point is None:
            return self._begun.point
        time, number = self._point
        lane = self._lanes.rows[number]
        return CursorPoint(time, lane.cluster_id, lane.topic, lane.partition)
