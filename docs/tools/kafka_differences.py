"""Where Apache Kafka 4.3 answers otherwise than we do, with the reason: one row each, for the page of APIs."""

from __future__ import annotations

OF_KAFKA_ONLY = {
    76: "ShareGroupHeartbeat",
    77: "ShareGroupDescribe",
    78: "ShareFetch",
    79: "ShareAcknowledge",
    83: "InitializeShareGroupState",
    84: "ReadShareGroupState",
    85: "WriteShareGroupState",
    86: "DeleteShareGroupState",
    87: "ReadShareGroupStateSummary",
    88: "StreamsGroupHeartbeat",
    89: "StreamsGroupDescribe",
    90: "DescribeShareGroupOffsets",
    91: "AlterShareGroupOffsets",
    92: "DeleteShareGroupOffsets",
}

_ONE_BROKER = "there is one broker"

# What, Apache Kafka, here, why.
DIFFERENCES: list[tuple[str, str, str, str]] = [
    (
        "replication factor above 1",
        "as many as there are brokers",
        "INVALID_REPLICATION_FACTOR; with `holdfast.accept.any.replication.factor` any is taken, and 1 is shown",
        f"{_ONE_BROKER}; durability comes from the write-ahead log and the store",
    ),
    (
        "a consumer with a `client.rack` (KIP-392), where many brokers lead",
        "reads from a follower in its rack, up to the high watermark",
        "reads what is flushed from a broker in its rack if it is far behind; that one names the leader as "
        "`preferred_read_replica` where this ends. Metadata has a broker of each rack among the replicas, "
        "DescribeTopicPartitions only the leader",
        "all read the same store, and only the leader has what is not flushed",
    ),
    (
        "a topic made because it was named",
        "UNKNOWN_TOPIC_OR_PARTITION, and some time later it is there",
        "UNKNOWN_TOPIC_OR_PARTITION, and it is there with the next request",
        "it is made before the answer",
    ),
    (
        "naming a topic whose name collides with another's",
        "UNKNOWN_TOPIC_OR_PARTITION for ever",
        "INVALID_TOPIC_EXCEPTION",
        "a client that hears the first one waits for what never comes",
    ),
    ("two names that collide, in one CreateTopics", "both are made", "the second is refused", "one by one"),
    (
        "leader epoch of a new topic",
        "0",
        "0, and one more for each time that the broker was not closed before",
        "an epoch is of the whole broker: it rises with each start after a crash, and none is ever used twice, also "
        "not by a topic that is made again after the directory was set back; a client that seeks with epoch 0 in a "
        "topic that never had it lands at its beginning",
    ),
    (
        "DeleteRecords while the store is away",
        "needs no store",
        "waits for the time-out, at least 10 s, then REQUEST_TIMED_OUT",
        "the deletion is in the store",
    ),
    (
        "ListOffsets of tiered records (-5, -6)",
        "offsets where tiered storage is on",
        "-1: none",
        "readers see one log; what is in the store is not a tier of its own",
    ),
    (
        "settings of a broker that are set while it runs",
        "some ninety",
        "all defaults of topics, and the limits of connections; INVALID_REQUEST with a sentence for every other, also "
        "for names that nobody knows",
        "the others belong to parts that are not here, or are fixed when the broker starts",
    ),
    (
        "DescribeConfigs of a broker",
        "a value for all of Kafka's names",
        "all of Kafka's names; those that mean nothing here have no value, and say why in their documentation",
        "a value that means nothing would be shown as if it did",
    ),
    (
        "configs of a group: `streams.…`",
        "those of streams groups",
        "INVALID_CONFIG",
        "there are no streams groups",
    ),
    (
        "configs of a group: `consumer.assignment.interval.ms`, `share.assignment.interval.ms`",
        "1000: assignments are put off so that several changes share one",
        "only 0",
        "assignments are made as soon as members or topics change",
    ),
    (
        "assignors of consumer groups (`group.consumer.assignors`)",
        "also classes of one's own",
        "`uniform` and `range`",
        "no foreign code runs in the broker",
    ),
    (
        "a share consumer's connection is lost",
        "what it had is free at once, and not counted as a delivery",
        "it is free when its locks run out, or its session",
        "a member may come back on another connection; see the guide of share groups",
    ),
    (
        "share groups that begin by duration, where every record is older",
        "each fetch fails until there is a record that is not",
        "they begin at the end",
        "that is where the first record will be that is not older",
    ),
    (
        "AlterShareGroupOffsets to a negative offset",
        "taken",
        "INVALID_REQUEST for the partition",
        "there is no such offset",
    ),
    (
        "fetches without a session that name more than about 60 partitions, with little to read",
        "answered as they come",
        "all together get a fifth of the event loop's time; each waits for half a second at most",
        "one record would cost the work of thousands of partitions, and producers would wait for it",
    ),
    (
        "`fetch.min.bytes` of share consumers",
        "any size",
        "waited for up to 1 MiB for each partition of the session",
        "one answer has no more of a partition",
    ),
    (
        "DescribeConfigs that names a resource twice",
        "answered twice",
        "INVALID_REQUEST for the second",
        "a broker has hundreds of configs: an answer would have any size",
    ),
    (
        "synonyms in other units (`log.retention.hours`, `log.roll.hours`, …)",
        "they are defaults of the one in milliseconds",
        "listed without a value",
        "there is one setting for one thing",
    ),
    (
        "a batch with one record without a timestamp (-1) and others beyond `message.timestamp.before.max.ms`",
        "refused",
        "taken",
        "of the timestamps of a batch only the lowest and the highest are known, and -1 is the lowest",
    ),
    ("loggers (resource type 8)", "levels can be set", "INVALID_REQUEST", "levels are set when the broker starts"),
    (
        "metrics of clients (KIP-714)",
        "listed where a plugin takes them; subscriptions can be set",
        "listed, with a subscription to nothing; PushTelemetry is UNKNOWN_SUBSCRIPTION_ID",
        "nothing collects them",
    ),
    (
        "request_percentage",
        "of the threads that serve requests",
        "of the event loop's time",
        "there is one loop; work in other threads is not counted",
    ),
    (
        "connection rates of addresses",
        "names are resolved; over ten seconds",
        "enforced for addresses; over one second",
        "looking names up would hold others up",
    ),
    ("delegation tokens", "as configured", "refused, as a Kafka without them does", "there are none yet"),
    (
        "moving partitions, electing leaders, removing brokers",
        "done",
        "what is so already succeeds, everything else is refused",
        _ONE_BROKER,
    ),
    ("voters of the metadata", "can be added and removed", "one, for ever: UNSUPPORTED_VERSION", _ONE_BROKER),
    (
        "features",
        "also `metadata.version`, `kraft.version`, `streams.version` and more",
        "those that change what clients do",
        "levels come with the release",
    ),
]
