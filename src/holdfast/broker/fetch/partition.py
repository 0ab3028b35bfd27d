"""One partition's part of a fetch: whether its reader knows our history, what it is sent, and whether that moved."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.stored import StoredPartition
from holdfast.protocol.codes import Code
from holdfast.protocol.hot.fetch import FetchPartition
from holdfast.protocol.hot.fetch_response import AbortedTransaction, EpochEnd, Fetched

NONE_ABORTED: tuple[AbortedTransaction, ...] = ()


def size_of(answer: Fetched) -> int:
    """Bytes of its records."""
    return sum(map(len, answer.records)) if answer.records else 0


def has_moved(partition: PartitionLog, answer: Fetched) -> bool:
    """Whether a reader would see another mark than it was answered."""
    _, _, high_watermark, stable, start, *_ = answer
    marks = partition.marks
    seen = marks.high_watermark == high_watermark and marks.log_start == start and partition.last_stable == stable
    return not seen or not partition.is_alive


def check_epochs(partition: PartitionLog, wanted: FetchPartition) -> Fetched | None:
    """Tell a reader that has seen another history than ours."""
    number, epoch = wanted.partition, partition.epochs.current
    if 0 <= wanted.current_leader_epoch < epoch:
        return Fetched(number, Code.FENCED_LEADER_EPOCH)
    if wanted.current_leader_epoch > epoch:
        return Fetched(number, Code.UNKNOWN_LEADER_EPOCH)
    if wanted.last_fetched_epoch >= 0:
        end = partition.end_of_epoch(wanted.last_fetched_epoch)
        if end is not None and (end[0] < wanted.last_fetched_epoch or end[1] < wanted.fetch_offset):
            marks = partition.marks
            return Fetched(
                number,
                0,
                marks.high_watermark,
                partition.last_stable,
                marks.log_start,
                diverging_epoch=EpochEnd(*end),
            )
    return None


async def read_partition(
    partition: PartitionLog | StoredPartition, wanted: FetchPartition, limit: int, *, first: bool, committed: bool
) -> Fetched:
    """What is there from its offset on, within the limit; the first batch of an answer however large it is."""
    number = wanted.partition
    marks = partition.marks
    if wanted.fetch_offset > marks.log_end or wanted.fetch_offset < marks.log_start:
        code = Code.OFFSET_OUT_OF_RANGE
        return Fetched(number, code, marks.high_watermark, partition.last_stable, marks.log_start)
    aborted: Sequence[AbortedTransaction] | None = NONE_ABORTED if committed else None
    if limit <= 0 and not first:
        return Fetched(number, 0, marks.high_watermark, partition.last_stable, marks.log_start, aborted)
    if wanted.fetch_offset >= (partition.last_stable if committed else marks.high_watermark) and partition.is_alive:
        return Fetched(number, 0, marks.high_watermark, partition.last_stable, marks.log_start, aborted)
    found = await partition.read(wanted.fetch_offset, None, limit, committed=committed, in_pieces=True)
    buffers = found.buffers
    if not first and sum(map(len, buffers)) > limit:
        buffers = []  # The first batch of an answer is sent however large it is; all others must fit.
    if committed and buffers:
        aborted = [AbortedTransaction(each.producer_id, each.first_offset) for each in found.aborted]
    return Fetched(number, 0, found.high_watermark, found.last_stable, found.log_start, aborted, records=buffers)
