"""The unflushed tail of one partition, fetched from its broker, as the same Arrow batches that segments give.

A broker answers for every offset it has, flushed or not, so nothing can fall between the stored part and the tail. When
no broker answers, what it has flushed since is read from the segments instead; only what it never flushed cannot be
read without it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from holdfast.catalog.batch_filter import sift
from holdfast.catalog.errors import DataLost
from holdfast.catalog.plan import Task, cover
from holdfast.catalog.read import ROW_COUNT, fail, read, skipping, warn
from holdfast.catalog.rows import cut, needed, to_rows
from holdfast.catalog.store import Store
from holdfast.catalog.times import ALWAYS, Times
from holdfast.client import ClientSettings
from holdfast.client.client import Client
from holdfast.client.fetching import FetchedBatches
from holdfast.client.offsets import EARLIEST
from holdfast.errors import HoldfastError, Rejected, Unavailable
from holdfast.record.batch import split
from holdfast.record.columnar.decode import Decoder
from holdfast.segment.errors import NoManifest
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import OffsetRange, PartitionId, TopicPartition

PATIENCE_S = 30.0  # How long a broker may be away, as it is when it starts again.

_OPEN_END = 2**63 - 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TailTask:
    """Offsets `[start, end)` of one partition, to be fetched."""

    where: TopicPartition
    home: PartitionId
    start: int
    end: int
    kafka: ClientSettings
    committed: bool = True
    times: Times = ALWAYS


def read_tail(
    task: TailTask,
    columns: Sequence[str],
    store: Store,
    *,
    fail_on_data_loss: bool = True,
    patience_s: float = PATIENCE_S,
) -> Iterator[pa.RecordBatch]:
    """The rows of a tail, in order."""
    at = task.start
    try:
        with Client(task.kafka, "holdfast-spark", patience_s=patience_s) as client:
            while at < task.end:
                fetched = client.fetch({task.where: at}, committed=task.committed)[task.where]
                if not _is_the_same(client, task):
                    _lose(DataLost(str(task.where), at, task.end, "the topic was deleted"), fail=fail_on_data_loss)
                    return
                if fetched.error is not None:
                    at = _after_error(client, task, at, fetched.error, fail_on_data_loss=fail_on_data_loss)
                    continue
                yield from _rows(task, at, fetched, columns, fail_on_data_loss=fail_on_data_loss)
                at = _end_of(task, at, fetched)
    except Unavailable as failure:
        yield from _stored_since(task, at, columns, store, failure, fail_on_data_loss=fail_on_data_loss)


def _is_the_same(client: Client, task: TailTask) -> bool:
    """Whether the topic of this name is the one that was planned for. Asked after a fetch: ids never come back."""
    try:
        return client.topic(task.where.topic).id in (task.home.topic_id, None)
    except Rejected:  # There is none of this name any more.
        return False


def _lose(lost: DataLost, *, fail: bool) -> None:
    if fail:
        raise lost
    _log.warning("%s", lost)


def _rows(
    task: TailTask, at: int, fetched: FetchedBatches, columns: Sequence[str], *, fail_on_data_loss: bool
) -> Iterator[pa.RecordBatch]:
    skip = skipping(str(task.where), OffsetRange(at, task.end), fail if fail_on_data_loss else warn)
    decoder = Decoder(needed(columns), place=f"{task.where} from {task.kafka}", skip=skip)
    for group in decoder.groups(sift(fetched.records, task.times, _aborted(fetched)), ROW_COUNT):
        rows = to_rows(group, columns, task.where.topic, task.where.partition)
        rows = cut(rows, group, OffsetRange(at, task.end), task.times)
        if rows.num_rows:
            yield rows


def _end_of(task: TailTask, at: int, fetched: FetchedBatches) -> int:
    """Where to go on: behind the last batch. Behind what can be read there may be no batch at all, if compaction made
    holes: then what was asked for has been read."""
    ends = [header.end_offset for header, _ in split(fetched.records)]
    if ends:
        return max(at, ends[-1])
    readable = fetched.last_stable_offset if task.committed else fetched.high_watermark
    if readable >= task.end:
        return task.end
    raise Unavailable(f"{task.where} ends at offset {readable} now, {task.end} was its end when the read was planned")


def _aborted(fetched: FetchedBatches) -> list[Aborted]:
    """The aborted transactions with their ends: each goes to its producer's next marker."""
    if not fetched.aborted:
        return []
    markers = [(header.producer_id, header.base_offset) for header, _ in split(fetched.records) if header.is_control]
    found = []
    for producer_id, first in fetched.aborted:
        ends = (offset for number, offset in markers if number == producer_id and offset >= first)
        found.append(Aborted(producer_id, first, min(ends, default=_OPEN_END), first))
    return found


def _after_error(client: Client, task: TailTask, at: int, error: HoldfastError, *, fail_on_data_loss: bool) -> int:
    """Below log start it is data loss; every other error is passed on."""
    log_start = client.list_offsets({task.where: EARLIEST})[task.where].offset
    if log_start <= at:
        raise error
    lost = DataLost(str(task.where), at, min(task.end, log_start), f"the log starts at {log_start} now")
    _lose(lost, fail=fail_on_data_loss)
    return log_start


def _stored_since(
    task: TailTask, at: int, columns: Sequence[str], store: Store, failure: Unavailable, *, fail_on_data_loss: bool
) -> Iterator[pa.RecordBatch]:
    """The rest of a tail from segments, if all of it was flushed meanwhile; otherwise why it cannot be read."""
    try:
        manifest = load_manifest(store.open(), task.home)
    except NoManifest:
        _lose(DataLost(str(task.where), at, task.end, "the topic was deleted"), fail=fail_on_data_loss)
        return
    if _stored_end(manifest, task) < task.end:
        raise failure
    start = max(at, manifest.log_start)
    if start > at:
        lost = DataLost(str(task.where), at, min(start, task.end), f"the log starts at {manifest.log_start} now")
        _lose(lost, fail=fail_on_data_loss)
    pieces = cover(task.where.topic, manifest, OffsetRange(start, task.end), committed=task.committed)
    yield from read(Task(tuple(pieces), task.times), columns, store, fail_on_data_loss=fail_on_data_loss)


def _stored_end(manifest: Manifest, task: TailTask) -> int:
    return manifest.last_stable if task.committed else manifest.flushed
