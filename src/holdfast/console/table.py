"""Every route."""

from __future__ import annotations

from typing import Final

from holdfast.console.pages.overview import overview
from holdfast.console.pages.partition import manifests, partition, segment
from holdfast.console.pages.topic import configs, topic
from holdfast.console.pages.topics import topics
from holdfast.console.pages.wal import wal
from holdfast.console.routes import Right, Route

ROUTES: Final = (
    Route(
        "/",
        overview,
        Right.CLUSTER,
        "Overview: is all well, how much is going on, who is held back and why; all brokers.",
        "the sums of the survey, kept for a second",
    ),
    Route(
        "/topics",
        topics,
        Right.LISTED,
        "Topics: 100 of them, filtered and sorted.",
        "the sums of the survey, kept for a second",
        {
            "filter": "a part of the name",
            "sort": "a column, `-` in front: down",
            "start": "the first row",
            "internal": "`true`: these, too",
        },
    ),
    Route(
        "/topics/{topic}",
        topic,
        Right.DESCRIBE_TOPIC,
        "Topic: the marks of 100 partitions, undecided transactions, retention's edge.",
        "some microseconds for each partition",
        {"start": "the first partition"},
    ),
    Route(
        "/topics/{topic}/configs",
        configs,
        Right.DESCRIBE_TOPIC,
        "Its configs with their source; asked of the broker's own handler, so it needs DescribeConfigs Topic, too.",
        "one DescribeConfigs",
    ),
    Route(
        "/topics/{topic}/{partition}",
        partition,
        Right.DESCRIBE_TOPIC,
        "Partition: its marks, 200 segments, epochs, the last 50 producers, reads of this broker by place.",
        "some microseconds for each segment shown",
        {"before": "the number of the segment behind the last one shown"},
    ),
    Route(
        "/topics/{topic}/{partition}/manifests",
        manifests,
        Right.DESCRIBE_TOPIC,
        "The last 10 versions of its manifest, and what each changed.",
        "up to 30 reads of the store, in a thread",
        is_scan=True,
    ),
    Route(
        "/topics/{topic}/{partition}/segments/{base}",
        segment,
        Right.DESCRIBE_TOPIC,
        "The segment that holds an offset: its index, and 100 batches, each held against its crc now.",
        "two reads of the store, in a thread",
        {"offset": "the first batch shown is the one that holds it"},
        is_scan=True,
    ),
    Route(
        "/wal",
        wal,
        Right.CLUSTER,
        "Write-ahead log: the last 240 rounds, fsync times, what a start after a crash would read again.",
        "nothing worth mentioning",
    ),
)
