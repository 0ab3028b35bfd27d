"""The broker's settings, under Kafka's names where Kafka has one: `num_partitions` is `num.partitions`."""

from __future__ import annotations

from dataclasses import dataclass

DAY_MS = 24 * 60 * 60 * 1000
_AT_LEAST_1 = (
    "socket_request_max_ms",
    "socket_response_max_ms",
    "max_connections",
    "max_connection_creation_rate",
    "queued_max_request_bytes",
    "queued_max_response_bytes",
    "max_groups",
    "max_transactional_ids",
    "max_client_quotas",
    "max_partitions",
    "max_metadata_bytes",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """How the broker behaves towards clients."""

    node_id: int = 0
    num_partitions: int = 1  # Of topics made without saying how many.
    auto_create_topics_enable: bool = True
    delete_topic_enable: bool = True
    holdfast_accept_any_replication_factor: bool = False  # Of new topics: more than one is kept as one.
    message_max_bytes: int = 1_048_588  # The largest batch, unless a topic says otherwise.
    log_retention_ms: int = 7 * DAY_MS  # How long records are kept, unless a topic says otherwise; -1 is for ever.
    log_retention_bytes: int = -1  # How much of a partition is kept, unless a topic says otherwise; -1 is all.
    log_cleanup_policy: str = "delete"
    log_message_timestamp_type: str = "CreateTime"
    socket_request_max_bytes: int = 104_857_600  # The largest request.
    socket_request_max_ms: int = 30_000  # For a whole request to arrive; a second more for each 256 KiB of it.
    socket_response_max_ms: int = 30_000  # A client that takes nothing of its answers for so long is closed.
    max_connections: int = 10_000
    max_connections_per_ip: int = 2_147_483_647
    max_connections_per_ip_overrides: str = ""  # "10.0.0.7:200,::1:50": another number for some addresses.
    max_connection_creation_rate: int = 2_147_483_647  # A second; more wait to be accepted.
    connections_max_idle_ms: int = 600_000
    queued_max_request_bytes: int = 536_870_912  # Bytes of requests not answered yet, of all connections together.
    queued_max_response_bytes: int = 268_435_456  # Bytes of answers not taken yet, of all connections together.
    fetch_max_bytes: int = 57_671_680  # The most one fetch gets.
    max_incremental_fetch_session_cache_slots: int = 1000
    max_incremental_fetch_session_partitions: int = 500_000  # That all fetch sessions together may remember.
    min_incremental_fetch_session_eviction_ms: int = 120_000  # A session silent for less makes room for no other.
    max_partitions: int = 50_000  # Of all topics together, those of internal ones counted.
    max_client_quotas: int = 10_000
    max_metadata_bytes: int = 33_554_432  # Of all topics' names and configs, and of quotas, together.
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 10_000
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_max_size: int = 10_000
    group_consumer_migration_policy: str = "bidirectional"  # Which way groups with members may change their protocol.
    max_groups: int = 100_000
    group_share_session_timeout_ms: int = 45_000
    group_share_heartbeat_interval_ms: int = 5_000
    group_share_max_size: int = 200
    group_share_record_lock_duration_ms: int = 30_000  # A record is a share group's member's for so long.
    group_share_delivery_count_limit: int = 5
    group_share_partition_max_record_locks: int = 2_000
    group_share_max_share_sessions: int = 2_000
    share_coordinator_state_topic_num_partitions: int = 4
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_minutes: int = 10_080
    offsets_topic_num_partitions: int = 4
    transaction_state_log_num_partitions: int = 4
    transaction_max_timeout_ms: int = 900_000
    max_transactional_ids: int = 100_000
    transactional_id_expiration_ms: int = 7 * DAY_MS

    def __post_init__(self) -> None:
        if self.num_partitions < 1 or self.offsets_topic_num_partitions < 1:
            raise ValueError("num.partitions and offsets.topic.num.partitions must be at least 1")
        if self.transaction_state_log_num_partitions < 1:
            raise ValueError("transaction.state.log.num.partitions must be at least 1")
        if min(self.transaction_max_timeout_ms, self.transactional_id_expiration_ms) < 1:
            raise ValueError("transaction.max.timeout.ms and transactional.id.expiration.ms must be at least 1")
        self._check_limits()
        if self.log_cleanup_policy not in ("delete", "compact", "compact,delete", "delete,compact"):
            raise ValueError("log.cleanup.policy must be delete, compact or both")
        if not 0 < self.group_consumer_heartbeat_interval_ms < self.group_consumer_session_timeout_ms:
            raise ValueError(
                "group.consumer.heartbeat.interval.ms must be above 0 and below group.consumer.session.timeout.ms"
            )
        if not 0 < self.group_share_heartbeat_interval_ms < self.group_share_session_timeout_ms:
            raise ValueError(
                "group.share.heartbeat.interval.ms must be above 0 and below group.share.session.timeout.ms"
            )
        of_shares = (
            self.group_share_max_size,
            self.group_share_record_lock_duration_ms,
            self.group_share_delivery_count_limit,
            self.group_share_partition_max_record_locks,
            self.group_share_max_share_sessions,
            self.share_coordinator_state_topic_num_partitions,
        )
        if min(of_shares) < 1:
            raise ValueError("limits of share groups (group.share.…, share.coordinator.…) must be at least 1")
        if self.group_consumer_migration_policy not in ("bidirectional", "upgrade", "downgrade", "disabled"):
            raise ValueError("group.consumer.migration.policy must be bidirectional, upgrade, downgrade or disabled")

    def _check_limits(self) -> None:
        for name in _AT_LEAST_1:
            if getattr(self, name) < 1:
                raise ValueError(f"{kafka_name(name)} must be at least 1")
        overrides_of(self.max_connections_per_ip_overrides)

    def topic_defaults(self) -> dict[str, str]:
        """What topics have unless they say otherwise, by the topic config's name."""
        return {
            "cleanup.policy": self.log_cleanup_policy,
            "max.message.bytes": str(self.message_max_bytes),
            "message.timestamp.type": self.log_message_timestamp_type,
            "retention.bytes": str(self.log_retention_bytes),
            "retention.ms": str(self.log_retention_ms),
        }


def kafka_name(field: str) -> str:
    """The name that Kafka's users know."""
    return field.replace("_", ".")


def overrides_of(text: str) -> dict[str, int]:
    """Connections for some addresses: `10.0.0.7:200,::1:50`."""
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        address, _, count = part.rpartition(":")
        if not address or not count.isdecimal():
            raise ValueError(f"max.connections.per.ip.overrides: {part!r} is not an address, a colon and a number")
        found[address] = int(count)
    return found
