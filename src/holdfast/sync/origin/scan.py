"""What the target holds already: the highest offset of the source that was applied, found by the origin marks."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np

from holdfast.client import EARLIEST, LATEST, Client
from holdfast.errors import Unavailable
from holdfast.record.columnar.columns import Column, Columns
from holdfast.record.columnar.decode import Decoder
from holdfast.record.unreadable import telling
from holdfast.sync.carry.committed import end_of
from holdfast.sync.origin.marking import NONE, OriginMarks
from holdfast.sync.origin.proof import NO_COPY, Copy
from holdfast.types import ClusterPartition, TopicPartition

log = logging.getLogger(__name__)

_FETCH_SIZE = 16 << 20


def bounds(client: Client, where: TopicPartition) -> tuple[int, int]:
    """Start and end of a partition."""
    start = client.list_offsets({where: EARLIEST})[where].offset
    return start, client.list_offsets({where: LATEST})[where].offset


def read_range(
    client: Client,
    where: TopicPartition,
    start: int,
    end: int,
    columns: Column = Column.HEADERS,
    *,
    size: int = _FETCH_SIZE,
) -> Iterator[tuple[int, Columns]]:
    """All records of a range, as far as compaction and retention have left them; with each the offset behind it.

    Also those of open and aborted transactions: marks are never written in one. Batches that nobody can read are
    stepped over: no sync has written them, and nobody sees their keys.
    """
    skip = telling(lambda one: log.warning("%s: %s", where, one), start, end)
    decoder = Decoder(columns, place=f"{where}", skip=skip)
    at = start
    while at < end:
        fetched = client.fetch({where: at}, committed=False, partition_max_bytes=size)[where]
        if fetched.error is not None:
            low = bounds(client, where)[0]
            if low <= at:
                raise fetched.error
            at = low  # Retention was quicker.
            continue
        after = end_of(fetched, at)
        if after == at:
            if fetched.high_watermark < end:
                raise Unavailable(
                    f"{where} ended at offset {end}, and ends at {fetched.high_watermark} now: it is looked at again"
                )
            return  # Holes up to the end.
        yield after, decoder.decode([fetched.records])
        at = after


def find_applied(client: Client, where: TopicPartition, home: ClusterPartition, start: int, end: int) -> Copy:
    """The copy with the highest offset of the source partition in a range of the target; one without offsets if none.

    Records are applied in order, so all below it are applied, too.
    """
    highest = NO_COPY
    for _, columns in read_range(client, where, start, end):
        offsets = OriginMarks.of(columns).offsets_from(home)
        row = int(np.argmax(offsets)) if len(offsets) else NONE
        if row != NONE and offsets[row] > highest.of:
            highest = Copy(int(columns.offset[row]), int(offsets[row]))
    return highest
