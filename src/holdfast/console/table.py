"""Every route."""

from __future__ import annotations

from typing import Final

from holdfast.console.pages.access import access, verdict
from holdfast.console.pages.groups import group, groups
from holdfast.console.pages.overview import overview
from holdfast.console.pages.partition import manifests, partition, segment
from holdfast.console.pages.proof import proof, reports, verify
from holdfast.console.pages.records import WANTED, record, records, timeline
from holdfast.console.pages.store import OBJECTS_ASKED, objects, store
from holdfast.console.pages.subscriptions import subscriptions
from holdfast.console.pages.topic import configs, topic
from holdfast.console.pages.topics import topics
from holdfast.console.pages.transactions import transactions
from holdfast.console.pages.wal import wal
from holdfast.console.routes import PageRight, Route

SURVEY: Final = "the sums of the survey, kept for a second"
LIST: Final = {"filter": "a part of the name", "start": "the first row"}
EACH: Final = "some microseconds for each partition"
CHEAP: Final = "nothing worth mentioning"

ROUTES: Final = (
    Route(
        "/",
        overview,
        PageRight.CLUSTER,
        "Overview: is all well, how much is going on, who is held back and why; all brokers.",
        SURVEY,
    ),
    Route(
        "/topics",
        topics,
        PageRight.LISTED,
        "Topics: 100 of them, filtered and sorted.",
        SURVEY,
        {**LIST, "sort": "a column, `-` in front: down", "internal": "`true`: these, too"},
    ),
    Route(
        "/topics/{topic}",
        topic,
        PageRight.DESCRIBE_TOPIC,
        "Topic: the marks of 100 partitions, undecided transactions, retention's edge.",
        EACH,
        {"start": "the first partition"},
    ),
    Route(
        "/topics/{topic}/configs",
        configs,
        PageRight.DESCRIBE_TOPIC,
        "Its configs with their source; asked of the broker's own handler, so it needs DescribeConfigs Topic, too.",
        "one DescribeConfigs",
    ),
    Route(
        "/topics/{topic}/records",
        records,
        PageRight.READ_TOPIC,
        "Records: those of a topic, or of one partition, that are looked for, in the order of their times.",
        "up to 32 MiB of reads and 2 s, looked through in a thread; then a cursor",
        {"partition": "only this one", **WANTED},
        is_scan=True,
    ),
    Route(
        "/topics/{topic}/{partition}",
        partition,
        PageRight.DESCRIBE_TOPIC,
        "Partition: its marks, 200 segments, epochs, the last 50 producers, reads of this broker by place.",
        "some microseconds for each segment shown",
        {"before": "the number of the segment behind the last one shown"},
    ),
    Route(
        "/topics/{topic}/{partition}/manifests",
        manifests,
        PageRight.DESCRIBE_TOPIC,
        "The last 10 versions of its manifest, and what each changed.",
        "up to 30 reads of the store, in a thread",
        is_scan=True,
    ),
    Route(
        "/topics/{topic}/{partition}/segments/{base}",
        segment,
        PageRight.DESCRIBE_TOPIC,
        "The segment that holds an offset: its index, and 100 batches, each held against its crc now.",
        "two reads of the store, in a thread",
        {"offset": "the first batch shown is the one that holds it"},
        is_scan=True,
    ),
    Route(
        "/topics/{topic}/{partition}/records/{offset}",
        record,
        PageRight.READ_TOPIC,
        "One record: a mebibyte of its value, and 64 KiB of its bytes.",
        "one read",
        is_scan=True,
    ),
    Route(
        "/timeline",
        timeline,
        PageRight.READ_TOPICS,
        "Timeline: several topics in one order of time, up to 64 partitions.",
        "as a search of records",
        {"topics": "their names, with commas", **WANTED},
        "?topics=orders",
        is_scan=True,
    ),
    Route(
        "/groups",
        groups,
        PageRight.LISTED,
        "Groups: 100 of them, with their lag in records.",
        "some microseconds for each committed offset",
        LIST,
    ),
    Route(
        "/groups/{group}",
        group,
        PageRight.DESCRIBE_GROUP,
        "Group: members, assignment, committed offsets, lag in records and in time; of topics that may be described.",
        "one read for each partition whose committed offset has moved",
    ),
    Route(
        "/transactions",
        transactions,
        PageRight.LISTED,
        "Transactions: 100 transactional ids, the open ones first, with what each holds back.",
        "some microseconds for each id",
        LIST,
    ),
    Route(
        "/store",
        store,
        PageRight.CLUSTER,
        "Store: calls by kind with their times and failures, the block cache, what waits to be deleted.",
        CHEAP,
    ),
    Route(
        "/store/objects",
        objects,
        PageRight.CLUSTER,
        "200 objects below a prefix; or what one of them says, if it is JSON.",
        "one listing or one read of the store, in a thread",
        OBJECTS_ASKED,
        is_scan=True,
    ),
    Route(
        "/subscriptions",
        subscriptions,
        PageRight.CLUSTER,
        "Subscriptions, sync, archive: what is open, writes here or has reported, and how far behind it is.",
        "every 2 s: checkpoints of syncs read on, their metrics asked for, a listing of reports; in threads",
    ),
    Route(
        "/proof",
        proof,
        PageRight.CLUSTER,
        "Proof: what is known to be damaged, not served or not readable.",
        EACH,
    ),
    Route(
        "/proof/reports",
        reports,
        PageRight.CLUSTER,
        "The last audit, verification, backup and repair that were run on this store.",
        "four reads of the store, in a thread",
        is_scan=True,
    ),
    Route(
        "/topics/{topic}/{partition}/verify",
        verify,
        PageRight.DESCRIBE_TOPIC,
        "Segments of a partition, every byte held against its crcs now; then where to go on.",
        "up to 64 MiB of reads and 2 s, in a thread, and at least one segment",
        {"from": "the offset to begin with"},
        is_scan=True,
    ),
    Route(
        "/access",
        access,
        PageRight.CLUSTER,
        "Access: 500 users, rules and quotas, who is throttled, refusals and failed logins of the last hour.",
        "a look through all users and rules, in a thread",
        {"filter": "a part of a user or a rule"},
    ),
    Route(
        "/access/verdict",
        verdict,
        PageRight.CLUSTER,
        "May somebody do something, and by which rule.",
        CHEAP,
        {"user": "`User:NAME`", "operation": "`READ`, …", "kind": "`TOPIC`, …", "name": "of it", "host": "from where"},
        "?user=User:x&operation=READ&kind=TOPIC&name=orders",
        is_scan=True,
    ),
    Route("/wal", wal, PageRight.CLUSTER, "Write-ahead log: rounds, fsyncs, what keeps it, what a start reads.", EACH),
)
