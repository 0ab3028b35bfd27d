"""First pass of a merge, on executors: which times lie where. Only offsets and timestamps are decoded.

Manifests know the times of batches, not of records, and a producer may send any times in any order. So the records
themselves are asked: every slice of some megabytes says its least and greatest time, exactly, and gives a sample of its
keys from which ranges of equal size are cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.catalog.batch_filter import sift
from holdfast.catalog.plan import Piece, Task
from holdfast.catalog.read import chunks_of
from holdfast.catalog.store import Store
from holdfast.record.columnar.columns import Column, Columns
from holdfast.record.columnar.decode import Decoder
from holdfast.record.unreadable import SteppedOver, telling
from holdfast.spark.jobs.merge.ranges import KEY, keys
from holdfast.spark.jobs.merge.source import moved

SAMPLES = 16  # Of each slice.


@dataclass(frozen=True)
class SurveyTask:
    """Some pieces of one source."""

    source: int
    store: Store
    task: Task


class Slice(NamedTuple):
    """A part of a piece: small, and with times that are known."""

    source: int
    piece: Piece
    first_time: int
    last_time: int
    rows: int


class Survey(NamedTuple):
    """What a task says."""

    slices: list[Slice]
    sample: NDArray[Any]  # Of dtype KEY.
    weights: NDArray[np.float64]  # How many rows each key of the sample stands for.
    unreadable: dict[str, SteppedOver]  # What nobody can read, by partition.


def survey_task(todo: SurveyTask) -> Survey:
    slices, samples, weights = [], [np.empty(0, KEY)], [np.empty(0)]
    unreadable: dict[str, SteppedOver] = {}
    for piece, offset, timestamp in _columns(todo, unreadable):
        slices.append(Slice(todo.source, piece, int(timestamp.min()), int(timestamp.max()), len(offset)))
        order = np.argsort(timestamp, kind="stable")
        chosen = order[np.linspace(0, len(order) - 1, min(SAMPLES, len(order))).astype(np.int64)]
        samples.append(keys(timestamp[chosen], todo.source, piece.home.partition, offset[chosen]))
        weights.append(np.full(len(chosen), len(order) / len(chosen)))
    return Survey(slices, np.concatenate(samples), np.concatenate(weights), unreadable)


def _columns(
    todo: SurveyTask, unreadable: dict[str, SteppedOver]
) -> Iterator[tuple[Piece, NDArray[np.int64], NDArray[np.int64]]]:
    """Each chunk that holds records, as a piece of its own, with their offsets and times."""
    last: Piece | None = None
    start = 0
    for chunk in chunks_of(todo.store.open(), todo.task, on_loss=moved):
        piece = chunk.piece
        if last is None or (last.name, last.end) != (piece.name, piece.end):
            start = piece.start
        last = piece
        end = min(chunk.next_offset, piece.end)
        stepped = unreadable.setdefault(f"{piece.topic}-{piece.home.partition}", SteppedOver())
        # As the second pass will see it: a batch whose times alone can be read must not be counted here.
        decoder = Decoder(Column.NONE, piece.name, whole=True, skip=telling(stepped.add, start, end))
        groups = list(decoder.groups(sift(chunk.data, todo.task.times, piece.aborted)))
        offset, timestamp = _joined(groups)
        inside = (offset >= start) & (offset < end)
        if inside.any():
            yield replace(piece, start=start, end=end), offset[inside], timestamp[inside]
        start = end


def _joined(groups: list[Columns]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    empty = [np.empty(0, np.int64)]
    offsets = np.concatenate(empty + [each.offset for each in groups])
    return offsets, np.concatenate(empty + [each.timestamp for each in groups])
