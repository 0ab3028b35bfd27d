"""One task to Arrow batches, on an executor: native decoding, crc checked, aborted and control records left out.

A segment may go while a task waits to read it. Then the manifest is asked again, and says which of three it is:
expired, which is data loss and the caller's choice; replaced by compaction, whose segments are read instead from the
first offset that was not handed out yet; or still listed, which is corruption. Rounds go some time after their flush:
then what they had is read from segments.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from holdfast.catalog.batch_filter import sift
from holdfast.catalog.errors import DataLost
from holdfast.catalog.load import CHUNK_SIZE, RecordChunk, chunks
from holdfast.catalog.plan import Piece, RoundPart, SegmentPart, Task, cover
from holdfast.catalog.rows import check_columns, cut, needed, to_rows
from holdfast.catalog.store import Store
from holdfast.io.objects import NotFound, Objects
from holdfast.io.store_errors import Damaged
from holdfast.record.columnar.decode import Decoder, Skip
from holdfast.record.unreadable import Unreadable, telling
from holdfast.segment.errors import NoManifest
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.missing import follow
from holdfast.types import OffsetRange

ROW_COUNT = 20_000  # Of one Arrow batch, about: smaller ones cost more, larger ones gain nothing.
BATCH_SIZE = 8 * 1024 * 1024  # And so many bytes: for larger ones memory is taken anew each time.

OnLoss = Callable[[DataLost], None]  # Returns if the read is to go on without it.

_log = logging.getLogger(__name__)


def read(
    task: Task,
    columns: Sequence[str],
    store: Store,
    *,
    fail_on_data_loss: bool = True,
    row_count: int = ROW_COUNT,
    chunk_size: int = CHUNK_SIZE,
) -> Iterator[pa.RecordBatch]:
    """The rows of a task, in its order, with just these columns (names of Spark's Kafka source, in this order)."""
    check_columns(columns)
    wanted = needed(columns)
    on_loss = fail if fail_on_data_loss else warn
    for chunk in chunks_of(store.open(), task, on_loss=on_loss, chunk_size=chunk_size):
        piece = chunk.piece
        where = f"{piece.topic}-{piece.home.partition}"
        skip = skipping(where, OffsetRange(piece.start, piece.end), on_loss)
        decoder = Decoder(wanted, place=piece.name, skip=skip)
        batches = sift(chunk.data, task.times, piece.aborted, piece.times)
        for group in decoder.groups(batches, row_count, BATCH_SIZE):
            rows = to_rows(group, columns, piece.topic, piece.home.partition)
            rows = cut(rows, group, OffsetRange(piece.start, piece.end), task.times)
            if rows.num_rows:
                yield rows


def skipping(where: str, offsets: OffsetRange, on_loss: OnLoss) -> Skip:
    """What to do with a batch that nobody can read: of those in the range, as with what is lost."""

    def lose(one: Unreadable) -> None:
        on_loss(DataLost(where, one.start, one.end, f"nobody can read this batch: {one.why}"))

    return telling(lose, offsets.start, offsets.end)


def fail(lost: DataLost) -> None:
    """What is lost ends the read."""
    raise lost


def warn(lost: DataLost) -> None:
    """The read goes on without it."""
    _log.warning("%s", lost)


def chunks_of(
    objects: Objects, task: Task, *, on_loss: OnLoss = fail, chunk_size: int = CHUNK_SIZE
) -> Iterator[RecordChunk]:
    """The task's batches as bytes, whole and checked, whatever happens to its segments meanwhile."""
    todo = list(task.pieces)
    while todo:
        try:
            for chunk in chunks(objects, todo, task.times, chunk_size):
                yield chunk
                todo = _after(todo, chunk)
            return
        except NotFound as gone:
            todo = _instead(objects, todo, gone, on_loss)


def _after(todo: list[Piece], chunk: RecordChunk) -> list[Piece]:
    """What is left to be read after a chunk was handed out. A piece without one ends with the next one's first."""
    while todo[0].name != chunk.piece.name or todo[0].end != chunk.piece.end:
        todo = todo[1:]
    if chunk.next_offset >= chunk.piece.end:
        return todo[1:]
    return [replace(todo[0], start=chunk.next_offset), *todo[1:]]


def _instead(objects: Objects, todo: list[Piece], gone: NotFound, on_loss: OnLoss) -> list[Piece]:
    """What to read now that a segment or a round is gone."""
    number = next((n for n, piece in enumerate(todo) if _needs(piece, gone.name)), None)
    if number is None:
        raise gone
    missing = todo[number]
    instead: Sequence[Piece]
    if isinstance(missing, RoundPart):
        instead, lost = _flushed_since(objects, missing, gone)
    else:
        instead, lost = _judge(objects, missing)
    if lost is not None:
        on_loss(lost)
    return [*todo[:number], *instead, *todo[number + 1 :]]


def _needs(piece: Piece, name: str) -> bool:
    if isinstance(piece, RoundPart):
        return any(each.name == name for each in piece.runs)
    return piece.segment.name == name


def _flushed_since(objects: Objects, missing: RoundPart, gone: NotFound) -> tuple[list[Piece], DataLost | None]:
    """The pieces that hold what a piece of rounds held, one of which is gone: what it had was flushed before."""
    where = f"{missing.topic}-{missing.home.partition}"
    try:
        manifest = load_manifest(objects, missing.home)
    except NoManifest:
        return [], DataLost(where, missing.start, missing.end, "the topic was deleted")
    end = min(missing.end, int(manifest.flushed))
    if end <= missing.start or any(each.name == gone.name and each.end > manifest.flushed for each in missing.runs):
        raise Damaged(gone.name, f"it is gone, and {where} is flushed only up to offset {manifest.flushed}") from gone
    start = max(missing.start, int(manifest.log_start))
    lost = None
    if start > missing.start:
        reason = f"the log starts at {manifest.log_start} now"
        lost = DataLost(where, missing.start, min(start, missing.end), reason)
    wanted, undone = OffsetRange(start, max(start, end)), missing.aborted
    instead: list[Piece] = [*cover(missing.topic, manifest, wanted, committed=missing.committed, undone=undone)]
    if end < missing.end:
        instead.append(replace(missing, start=end))
    return instead, lost


def _judge(objects: Objects, missing: SegmentPart) -> tuple[list[SegmentPart], DataLost | None]:
    """The pieces that hold what a piece of a missing segment held, and what of it no piece does."""
    where = f"{missing.topic}-{missing.home.partition}"
    try:
        instead = follow(objects, missing.home, missing.segment)
    except NoManifest:
        return [], DataLost(where, missing.start, missing.end, "the topic was deleted")
    log_start = instead.manifest.log_start
    there = max(missing.start, log_start)
    lost = None
    if there > missing.start:
        end = min(there, missing.end)
        lost = DataLost(where, missing.start, end, f"the log starts at {log_start} now")
    ranges = [(each, max(there, each.base), min(missing.end, each.end)) for each in instead.segments]
    return [replace(missing, segment=each, start=start, end=end) for each, start, end in ranges if start < end], lost
