"""Every metric. The page of metrics is written from this table, and a scrape must show these and no others."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["counter", "gauge", "histogram", "info"]

PARTITION = ("topic", "partition")
CLAIM = ("group", "topic", "partition")
STORE = ("operation", "kind")


class Metric(NamedTuple):
    """One metric. A scrape adds `_total` to a counter's name, and `_bucket`, `_sum` and `_count` to a histogram's."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    meaning: str


METRICS = (
    Metric("holdfast", "info", ("version", "cluster"), "Which release runs, for which cluster."),
    # Clients
    Metric("holdfast_connections", "gauge", (), "Open connections of Kafka clients."),
    Metric(
        "holdfast_connections_refused",
        "counter",
        ("limit",),
        "Connections not taken: too many, too many or too fast from one address, or no descriptor left.",
    ),
    Metric(
        "holdfast_connections_closed",
        "counter",
        ("reason",),
        "Connections closed whose request came too late, whose answers were left unread, or whose TLS or login failed.",
    ),
    Metric("holdfast_requests_held_bytes", "gauge", (), "Bytes of requests that are here and not answered."),
    Metric("holdfast_answers_untaken_bytes", "gauge", (), "Bytes of answers that clients have not taken."),
    Metric("holdfast_requests", "counter", ("api",), "Requests that arrived."),
    Metric("holdfast_request_bytes", "counter", ("api",), "Bytes of requests."),
    Metric("holdfast_response_bytes", "counter", ("api",), "Bytes of answers."),
    Metric(
        "holdfast_request_seconds",
        "histogram",
        ("api",),
        "From a request's arrival to its answer. Of Produce it is the time to the ack; of Fetch and JoinGroup it "
        "includes the wait that the client asked for.",
    ),
    Metric(
        "holdfast_errors",
        "counter",
        ("api", "code"),
        "Error codes that clients were told, in Kafka's words; each part of an answer counts.",
    ),
    Metric("holdfast_loop_held", "counter", ("api",), "Times an API's work held the event loop for 5 ms or more."),
    Metric("holdfast_loop_held_seconds", "counter", ("api",), "How long it did, in all."),
    Metric("holdfast_throttled", "counter", ("quota",), "Requests whose client was told to wait, by the quota."),
    Metric("holdfast_throttled_seconds", "counter", ("quota",), "For how long they were told to, in all."),
    # A start while the store is away
    Metric("holdfast_store_waiting", "gauge", (), "1 while the store has not answered since the start, else 0."),
    Metric("holdfast_store_waiting_seconds", "gauge", (), "For how long that has been so; 0 once it has answered."),
    Metric(
        "holdfast_store_waiting_partitions",
        "gauge",
        (),
        "Partitions that are read from the write-ahead log meanwhile; each shows its high watermark.",
    ),
    # The write-ahead log
    Metric("holdfast_fsync_seconds", "histogram", (), "How long the disk took to make bytes durable."),
    Metric("holdfast_wal_rounds", "counter", (), "Rounds made durable: each one write and one fsync for all who wait."),
    Metric("holdfast_wal_chunks", "gauge", (), "Chunks in use."),
    Metric("holdfast_wal_disk_bytes", "gauge", (), "Bytes of the chunks in use."),
    Metric(
        "holdfast_disk_free_bytes",
        "gauge",
        (),
        "Bytes that are free on the disk with the write-ahead log; without one, or where it cannot be asked, NaN.",
    ),
    Metric("holdfast_disk_reserve_bytes", "gauge", (), "With less than this free, producers are refused."),
    Metric("holdfast_wal_queued_bytes", "gauge", (), "Bytes that wait to be written."),
    Metric("holdfast_wal_end_position", "gauge", (), "The position behind the last record."),
    Metric("holdfast_wal_durable_position", "gauge", (), "The position behind the last durable record."),
    # Memory and reads
    Metric("holdfast_tail_memory_bytes", "gauge", (), "Bytes of batches in memory that are in no segment yet."),
    Metric(
        "holdfast_unflushed_seconds",
        "gauge",
        (),
        "How long the oldest record waits that is in no segment yet: what is lost with the disk is no older.",
    ),
    Metric("holdfast_flushes", "counter", (), "Times a tail's durable batches went into a segment."),
    Metric("holdfast_flushed_bytes", "counter", (), "Bytes of these batches."),
    Metric(
        "holdfast_flush_bytes_max",
        "gauge",
        (),
        "Bytes that go into one segment at most: log.segment_size_max, and less while the store is slow.",
    ),
    Metric("holdfast_producers_held_back", "gauge", (), "1 while producers wait for room, else 0."),
    Metric(
        "holdfast_deletions", "gauge", (), "Deleted topics of which something is left, in the list or in the store."
    ),
    Metric(
        "holdfast_deletion_age_seconds",
        "gauge",
        (),
        "How long the oldest of these takes, since it was deleted or the broker has started; 0 without any.",
    ),
    Metric(
        "holdfast_producers_held_back_by",
        "gauge",
        ("reason",),
        "The same by reason: wal, the write-ahead log has its largest size; queue, the disk is slower than producers; "
        "memory, lists of batches that wait to be flushed fill it.",
    ),
    Metric(
        "holdfast_clock_apart_seconds",
        "gauge",
        (),
        "How far the clock is ahead of the time that has passed: away from 0 it has jumped, and retention waits.",
    ),
    Metric("holdfast_producers_held_back_seconds", "counter", ("reason",), "How long producers had to wait for room."),
    Metric(
        "holdfast_read_seconds",
        "histogram",
        ("place",),
        "Reads of one partition by the place they were served from: buffer, in-flight, spilled, cache or store.",
    ),
    Metric("holdfast_cache_bytes", "gauge", (), "Bytes of segment blocks in memory."),
    Metric("holdfast_cache_hits", "counter", (), "Blocks that were there."),
    Metric("holdfast_cache_misses", "counter", (), "Blocks that were loaded for the one who asked."),
    Metric("holdfast_cache_coalesced", "counter", (), "Blocks that were being loaded for somebody else."),
    Metric("holdfast_cache_read_ahead", "counter", (), "Blocks that were loaded before anybody asked."),
    Metric("holdfast_cache_evicted", "counter", (), "Blocks that were let go to make room."),
    Metric("holdfast_cache_failures", "counter", (), "Loads of blocks that failed."),
    Metric("holdfast_damage_met", "counter", (), "Times that stored bytes were not what was written, or gone."),
    Metric(
        "holdfast_batches_mended",
        "counter",
        (),
        "Batches that had changed in memory since they were acknowledged, and were stored from the write-ahead log.",
    ),
    Metric(
        "holdfast_unreadable_batches",
        "counter",
        ("by",),
        "Batches that nobody can read, stored before records were looked at, which a subscription has stepped over or "
        "a run of compaction has left as they are. Each time counts; the log names their offsets.",
    ),
    # The store
    Metric("holdfast_owner", "gauge", (), "1 while this broker owns the store, else 0: another has taken over."),
    Metric("holdfast_owner_claim", "gauge", (), "The number of its claim."),
    Metric(
        "holdfast_writer",
        "info",
        ("broker", "incarnation", "place"),
        "Who claims it: the broker's id, that of the process, and its data directory, machine and process.",
    ),
    Metric("holdfast_owner_looks", "counter", (), "Looks whether another has taken over; two requests each."),
    Metric("holdfast_owner_look_failures", "counter", (), "Those that the store did not answer."),
    Metric(
        "holdfast_store_seconds",
        "histogram",
        STORE,
        "Calls of the store: put, get, list, delete or size, by the first part of the object's name. A flush is a put "
        "of segments and one of manifests.",
    ),
    Metric("holdfast_store_failures", "counter", STORE, "Those that failed. Flushes are tried again."),
    Metric(
        "holdfast_store_away_seconds", "gauge", (), "How long each call of the store has failed; 0: the last has not."
    ),
    Metric("holdfast_store_bytes", "counter", ("operation",), "Bytes that were put and got."),
    # Partitions
    Metric("holdfast_partition_log_start", "gauge", PARTITION, "The first offset."),
    Metric("holdfast_partition_flushed", "gauge", PARTITION, "Offsets below this are in segments."),
    Metric("holdfast_partition_last_stable", "gauge", PARTITION, "Transactions below this offset are decided."),
    Metric("holdfast_partition_high_watermark", "gauge", PARTITION, "Offsets below this can be read."),
    Metric("holdfast_partition_log_end", "gauge", PARTITION, "The next offset. Its rate is records per second."),
    Metric("holdfast_partition_tail_bytes", "gauge", PARTITION, "Bytes that are in no segment yet."),
    Metric("holdfast_partition_segments", "gauge", PARTITION, "Segments."),
    Metric("holdfast_partition_open_transactions", "gauge", PARTITION, "Transactions that are not decided."),
    Metric("holdfast_partition_producers", "gauge", PARTITION, "Idempotent producers that are remembered."),
    Metric(
        "holdfast_partition_producers_let_go",
        "counter",
        PARTITION,
        "Those that were forgotten because there were more than log.producer_ids_max.",
    ),
    Metric("holdfast_partition_failed", "gauge", PARTITION, "1 when the partition cannot be served, else 0."),
    Metric(
        "holdfast_partition_damaged",
        "gauge",
        PARTITION,
        "Segments and other objects of the partition that readers or the broker have found damaged or gone. What is "
        "sound is served.",
    ),
    # Cluster
    Metric("holdfast_standing_by", "gauge", (), "1 while another broker of the cluster leads in its place, else 0."),
    Metric("holdfast_peer_unreachable", "gauge", (), "Other brokers of the cluster that do not answer this one."),
    Metric(
        "holdfast_fetches_pointed",
        "counter",
        (),
        "Readers of old records that were sent to a broker in their rack, by each partition and time.",
    ),
    Metric(
        "holdfast_fetch_bytes_for_others",
        "counter",
        (),
        "Bytes of records of partitions that other brokers lead, served to readers in this broker's rack.",
    ),
    Metric(
        "holdfast_fetches_sent_back",
        "counter",
        ("reason",),
        "Such readers that were sent back to the leader: end, where what is flushed ends; failed, where it could not "
        "be read.",
    ),
    # Groups
    Metric("holdfast_groups", "gauge", ("state",), "Groups in this state."),
    Metric("holdfast_group_members", "gauge", ("group",), "Members of the group."),
    Metric("holdfast_group_committed_offset", "gauge", CLAIM, "How far the group has read, as it committed."),
    Metric("holdfast_group_lag_records", "gauge", CLAIM, "Offsets from there to the high watermark."),
    # Share groups
    Metric("holdfast_share_groups", "gauge", (), "Share groups."),
    Metric("holdfast_share_records_timed_out", "counter", (), "Records that a member of one has held for too long."),
    Metric("holdfast_share_records_given_up", "counter", (), "Those that were delivered as often as is allowed."),
    # Transactions
    Metric("holdfast_transactional_ids", "gauge", ("state",), "Transactional ids in this state, such as Ongoing."),
    Metric("holdfast_transactions", "counter", ("outcome",), "Those that ended: CompleteCommit or CompleteAbort."),
    Metric(
        "holdfast_transaction_ends_waiting",
        "gauge",
        (),
        "Ends that are decided and wait for a partition that cannot be written to before it is repaired.",
    ),
    # Subscriptions
    Metric("holdfast_subscriptions", "gauge", (), "Open subscriptions."),
    Metric("holdfast_subscription_events", "counter", (), "Events that were sent to subscribers."),
    Metric("holdfast_subscription_bytes", "counter", (), "Bytes that were sent to subscribers."),
    Metric(
        "holdfast_subscription_lag_records",
        "gauge",
        (),
        "Offsets that open subscriptions have yet to go through, without those that they read from the store.",
    ),
    # The process, as Prometheus' own library says it
    Metric("process_resident_memory_bytes", "gauge", (), "Memory in use."),
    Metric("process_virtual_memory_bytes", "gauge", (), "Address space in use."),
    Metric("process_open_fds", "gauge", (), "Open files and connections."),
    Metric("process_max_fds", "gauge", (), "How many there may be."),
    Metric("process_cpu_seconds", "counter", (), "Processor time used."),
    Metric("process_start_time_seconds", "gauge", (), "When the process started, in seconds since 1970."),
)


def exposed(metric: Metric) -> list[str]:
    """The names under which a scrape shows a metric."""
    if metric.kind == "histogram":
        return [f"{metric.name}_{part}" for part in ("bucket", "sum", "count")]
    return [metric.name + {"counter": "_total", "info": "_info", "gauge": ""}[metric.kind]]
