"""A producer's own list of acknowledged offsets, held against what was found.

One line for each: topic, partition, offset, with blanks between them. Read column by column, however long it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import Rejected
from holdfast.spark.jobs.audit.report import PartitionReport
from holdfast.types import OffsetRange, TopicPartition

Acked: TypeAlias = Mapping[TopicPartition, NDArray[np.int64]]  # Sorted; the same offset as often as it is in the list.
_BLOCK_SIZE = 16 * 1024 * 1024


def read_expected(path: Path) -> Acked:
    """The offsets of each partition."""
    import pyarrow as pa
    from pyarrow import csv

    names = ["topic", "partition", "offset"]
    kinds: Any = {"topic": pa.dictionary(pa.int32(), pa.string()), "partition": pa.int32(), "offset": pa.int64()}
    if path.stat().st_size == 0:
        return {}
    try:
        table = csv.read_csv(
            path,
            csv.ReadOptions(column_names=names, block_size=_BLOCK_SIZE),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(column_types=kinds),
        ).unify_dictionaries()
    except pa.ArrowInvalid as failure:
        raise Rejected(f"{path} is not a list of lines of topic, partition and offset: {failure}") from failure
    topics: Any = table.column("topic").combine_chunks()
    kind = topics.indices.to_numpy(zero_copy_only=False)
    partition, offset = table.column("partition").to_numpy(), table.column("offset").to_numpy()
    return _grouped(topics.dictionary.to_pylist(), kind, partition, offset)


def _grouped(
    names: list[str], topic: NDArray[Any], partition: NDArray[Any], offset: NDArray[Any]
) -> dict[TopicPartition, NDArray[np.int64]]:
    order = np.lexsort((offset, partition, topic))
    topic, partition, offset = topic[order], partition[order], offset[order]
    changes = np.flatnonzero((np.diff(topic) != 0) | (np.diff(partition) != 0)) + 1
    bounds = [0, *changes.tolist(), len(offset)]
    return {
        TopicPartition(names[topic[start]], int(partition[start])): offset[start:end].astype(np.int64)
        for start, end in pairwise(bounds)
        if end > start
    }


def compare(report: PartitionReport, acked: NDArray[np.int64]) -> None:
    """Every acknowledged offset must be accounted for, or be below log start."""
    report.expected = len(acked)
    distinct = np.unique(acked)
    if len(distinct) != len(acked):
        report.problems.append(f"{len(acked) - len(distinct)} offsets were acknowledged more than once")
        report.counts.duplicates += len(acked) - len(distinct)
    report.expected_expired = int(np.count_nonzero(distinct < report.log_start))
    lost = distinct[(distinct >= report.log_start) & _is_lost(report, distinct)]
    report.expected_missing = len(lost)
    if len(lost):
        shown = ", ".join(map(str, lost[:10].tolist())) + (" …" if len(lost) > 10 else "")
        report.problems.append(f"{len(lost)} acknowledged offsets are missing: {shown}")


def _is_lost(report: PartitionReport, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether offsets lie in a gap, or behind all that is there."""
    lost = offsets >= report.end
    gaps = OffsetRange.joined(report.missing)
    if gaps:
        starts, ends = (np.array(each, np.int64) for each in zip(*gaps, strict=True))
        number = np.searchsorted(starts, offsets, side="right") - 1
        lost |= (number >= 0) & (offsets < ends[np.maximum(number, 0)])
    return lost
