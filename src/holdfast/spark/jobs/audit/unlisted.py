"""Partitions that the store's metadata does not have, though the broker or its write-ahead log does.

Metadata comes before the first record, and goes after the mark of a deletion. So where it has no such partition, either
the topic was deleted while we looked, and whoever is asked again knows nothing of it any more; or its newest version is
gone, and with it the way to all records of the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from holdfast.spark.jobs.audit.report import PartitionReport
from holdfast.spark.jobs.audit.sum import BrokerMarks, Tails
from holdfast.types import OffsetRange, PartitionId, TopicPartition

Marks = Mapping[TopicPartition, BrokerMarks]


def unlisted_marks(
    marks: Marks, listed: Collection[TopicPartition], again: Callable[[], Marks]
) -> list[PartitionReport]:
    """Those that the broker has."""
    found = sorted(set(marks).difference(listed))
    there = again() if found else {}
    return [_report(*where, OffsetRange(*marks[where]), "the broker") for where in found if where in there]


def unlisted_tails(
    tails: Tails, listed: Collection[PartitionId], again: Callable[[], Tails]
) -> Iterator[PartitionReport]:
    """Those that the write-ahead log has records of: it knows no names."""
    found = sorted(home for home, batches in tails.items() if batches and home not in listed)
    there = again() if found else {}
    for home in found:
        if there.get(home):
            headers = [each.header for each in tails[home]]
            span = OffsetRange(min(each.base_offset for each in headers), max(each.end_offset for each in headers))
            yield _report(str(home.topic_id), home.partition, span, "the write-ahead log")


def _report(topic: str, partition: int, span: OffsetRange, who: str) -> PartitionReport:
    problem = f"{who} has it, but the store's metadata has no such partition: its newest version is gone"
    missing = [span] if span.width else []
    return PartitionReport(topic, partition, log_start=span.start, end=span.end, missing=missing, problems=[problem])
