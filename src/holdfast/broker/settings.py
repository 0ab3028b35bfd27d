"""The broker's settings, under Kafka's names where Kafka has one: `num_partitions` is `num.partitions`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from holdfast.broker.listeners import DEFAULT_MAP, Listener, parse_listeners
from holdfast.errors import Rejected
from holdfast.security.logins.checks import OFFERED
from holdfast.security.principal import Principal
from holdfast.security.rules import Rule, Rules
from holdfast.security.secret import NONE, Secret

_MECHANISM_WORDS = ("sasl_jaas_", "sasl_server_callback_", "sasl_oauthbearer_", "connections_max_reauth_ms")
_LISTENER_WORDS = ("ssl_", "sasl_", "connections_max_reauth_ms")
_NOT_NEGATIVE = (
    "sasl_oauthbearer_clock_skew_seconds",
    "connections_max_reauth_ms",
    "connection_failed_authentication_delay_ms",
)
AUTHORIZERS = ("org.apache.kafka.metadata.authorizer.StandardAuthorizer", "standard")
OVERRIDE = "listener.name."  # Of settings for one listener: `listener.name.outside.ssl.client.auth`.
_RACK_SIZE_MAX = 255
DAY_MS = 24 * 60 * 60 * 1000
_AT_LEAST_1 = (
    "sasl_server_max_receive_size",
    "sasl_oauthbearer_jwks_endpoint_refresh_ms",
    "socket_request_max_ms",
    "socket_response_max_ms",
    "max_connections",
    "max_connection_creation_rate",
    "queued_max_request_bytes",
    "queued_max_response_bytes",
    "max_groups",
    "max_committed_offsets_bytes",
    "max_transactional_ids",
    "max_client_quotas",
    "quota_window_num",
    "quota_window_size_seconds",
    "controller_quota_window_num",
    "controller_quota_window_size_seconds",
    "max_partitions",
    "max_metadata_bytes",
    "group_consumer_max_size",
    "group_share_max_groups",
    "group_share_max_partitions",
    "group_share_max_share_sessions",
    "share_coordinator_state_topic_num_partitions",
)
# What groups may have of their own: each setting has another two, for the least and the most.
_RANGED = (
    "group_consumer_session_timeout_ms",
    "group_consumer_heartbeat_interval_ms",
    "group_share_session_timeout_ms",
    "group_share_heartbeat_interval_ms",
    "group_share_record_lock_duration_ms",
    "group_share_delivery_count_limit",
    "group_share_partition_max_record_locks",
)
_BOUNDS = {  # Kafka's.
    "group_share_max_size": (1, 1_000),
    "group_share_min_record_lock_duration_ms": (1_000, 30_000),
    "group_share_max_record_lock_duration_ms": (30_000, 3_600_000),
    "group_share_min_delivery_count_limit": (2, 5),
    "group_share_max_delivery_count_limit": (5, 25),
    "group_share_min_partition_max_record_locks": (100, 2_000),
    "group_share_max_partition_max_record_locks": (2_000, 10_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """How the broker behaves towards clients."""

    node_id: int = 0  # The broker's number, which clients are told.
    broker_rack: str = ""  # Where it is, such as a zone: of several brokers, one in a reader's rack serves old records.
    listeners: str = ""  # "PLAINTEXT://127.0.0.1:9092,SSL://0.0.0.0:9093"; empty: the one of serve.listen.
    advertised_listeners: str = ""  # The addresses that clients are told; a listener without one tells its own.
    listener_security_protocol_map: str = DEFAULT_MAP  # How each listener is protected, by its name.
    listener_overrides: Mapping[str, str | Secret] = field(default_factory=dict)  # `listener.name.<name>.…`.
    ssl_keystore_type: str = "PEM"  # Nothing else is read.
    ssl_keystore_location: str = ""  # A file with a private key and its chain of certificates.
    ssl_keystore_certificate_chain: str = ""  # Or the chain itself,
    ssl_keystore_key: Secret = NONE  # and its key.
    ssl_key_password: Secret = NONE  # Of a key that is encrypted.
    ssl_truststore_type: str = "PEM"  # Nothing else is read.
    ssl_truststore_location: str = ""  # A file with the certificates that sign those of clients.
    ssl_truststore_certificates: str = ""  # Or these themselves.
    ssl_client_auth: str = "none"  # Whether clients show a certificate: none, requested or required.
    ssl_enabled_protocols: str = "TLSv1.2,TLSv1.3"  # Versions of TLS that are spoken.
    ssl_cipher_suites: str = ""  # Empty: all that are forward secret and authenticated.
    ssl_principal_mapping_rules: str = "DEFAULT"  # What makes a user's name of a certificate's.
    sasl_enabled_mechanisms: str = ""  # Offered: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER.
    sasl_jaas_config: Secret = NONE  # PlainLoginModule with user_NAME="PASSWORD"; other users are kept in the store.
    sasl_server_max_receive_size: int = 524_288  # Bytes of a request before its sender has logged in.
    sasl_server_callback_handler_class: str = ""  # Kafka's validator of OAUTHBEARER, which is built in; no other.
    sasl_oauthbearer_jwks_endpoint_url: str = ""  # Where the issuer of tokens publishes its keys: https:… or file:….
    sasl_oauthbearer_expected_audience: str = ""  # One of these is in every token; empty: any.
    sasl_oauthbearer_expected_issuer: str = ""  # Empty: any.
    sasl_oauthbearer_sub_claim_name: str = "sub"  # What in a token is the user's name.
    sasl_oauthbearer_scope_claim_name: str = "scope"  # What in a token is its scope.
    sasl_oauthbearer_clock_skew_seconds: int = 30  # How far an issuer's clock may be from ours.
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = 3_600_000  # How often the keys of the issuer are fetched.
    connections_max_reauth_ms: int = 0  # A session with SASL ends after so long, unless they log in again; 0: never.
    connection_failed_authentication_delay_ms: int = 100  # Whoever does not prove who they are hears so after this.
    authorizer_class_name: str = ""  # Kafka's StandardAuthorizer, or "standard"; empty: everybody may everything.
    super_users: str = ""  # "User:admin;User:ops": they may everything.
    allow_everyone_if_no_acl_found: bool = False  # Whether what no rule names is open to all.
    num_partitions: int = 1  # Of topics made without saying how many.
    auto_create_topics_enable: bool = True  # Whether a topic that a client asks for is made.
    delete_topic_enable: bool = True  # Whether clients may delete topics.
    holdfast_accept_any_replication_factor: bool = False  # Of new topics: more than one is kept as one.
    message_max_bytes: int = 1_048_588  # The largest batch, unless a topic says otherwise.
    log_retention_ms: int = 7 * DAY_MS  # How long records are kept, unless a topic says otherwise; -1 is for ever.
    log_retention_bytes: int = -1  # How much of a partition is kept, unless a topic says otherwise; -1 is all.
    log_cleanup_policy: str = "delete"  # delete, compact or both, unless a topic says otherwise.
    log_message_timestamp_type: str = "CreateTime"  # Or LogAppendTime, unless a topic says otherwise.
    socket_request_max_bytes: int = 104_857_600  # The largest request.
    socket_request_max_ms: int = 30_000  # For a whole request to arrive; a second more for each 256 KiB of it.
    socket_response_max_ms: int = 30_000  # A client that takes nothing of its answers for so long is closed.
    max_connections: int = 10_000  # Of all listeners together.
    max_connections_per_ip: int = 2_147_483_647  # From one address.
    max_connections_per_ip_overrides: str = ""  # "10.0.0.7:200,::1:50": another number for some addresses.
    max_connection_creation_rate: int = 2_147_483_647  # A second; more wait to be accepted.
    connections_max_idle_ms: int = 600_000  # A connection that was silent for so long is closed.
    queued_max_request_bytes: int = 536_870_912  # Bytes of requests not answered yet, of all connections together.
    queued_max_response_bytes: int = 268_435_456  # Bytes of answers not taken yet, of all connections together.
    fetch_max_bytes: int = 57_671_680  # The most one fetch gets.
    max_incremental_fetch_session_cache_slots: int = 1000  # Fetch sessions that are remembered.
    max_incremental_fetch_session_partitions: int = 500_000  # That all fetch sessions together may remember.
    min_incremental_fetch_session_eviction_ms: int = 120_000  # A session silent for less makes room for no other.
    max_partitions: int = 50_000  # Of all topics together, those of internal ones counted.
    max_client_quotas: int = 10_000  # Quotas that may be set.
    quota_window_num: int = 11  # A client that was quiet may use its quota of all windows but one in one go.
    quota_window_size_seconds: int = 1  # The length of one such window.
    controller_quota_window_num: int = 11  # The same for partitions that are made and deleted.
    controller_quota_window_size_seconds: int = 1  # The length of one such window.
    max_metadata_bytes: int = 33_554_432  # Of all topics' names and configs, and of quotas, together.
    group_min_session_timeout_ms: int = 6_000  # What a classic group's member may ask for, at the least,
    group_max_session_timeout_ms: int = 1_800_000  # and at the most.
    group_initial_rebalance_delay_ms: int = 3_000  # How long a new classic group waits for more members.
    group_max_size: int = 10_000  # Members of one classic group.
    group_consumer_session_timeout_ms: int = 45_000  # A member of a consumer group that was silent for so long is out.
    group_consumer_min_session_timeout_ms: int = 45_000  # What a group may have of its own, at the least, …
    group_consumer_max_session_timeout_ms: int = 60_000  # … and at the most; the broker's own lies in between.
    group_consumer_heartbeat_interval_ms: int = 5_000  # How often members of a consumer group say that they live.
    group_consumer_min_heartbeat_interval_ms: int = 5_000  # What a group may have of its own, at the least,
    group_consumer_max_heartbeat_interval_ms: int = 15_000  # and at the most.
    group_consumer_max_size: int = 10_000  # Members of one consumer group.
    group_consumer_assignors: str = "uniform,range"  # Those that members may ask for; the first is for all others.
    group_consumer_migration_policy: str = "bidirectional"  # Which way groups with members may change their protocol.
    max_groups: int = 100_000  # Groups of all kinds together.
    max_committed_offsets_bytes: int = 512 << 20  # Of memory, for all groups' offsets together.
    group_share_session_timeout_ms: int = 45_000  # A member of a share group that was silent for so long is out.
    group_share_min_session_timeout_ms: int = 45_000  # What a group may have of its own, at the least,
    group_share_max_session_timeout_ms: int = 60_000  # and at the most.
    group_share_heartbeat_interval_ms: int = 5_000  # How often members of a share group say that they live.
    group_share_min_heartbeat_interval_ms: int = 5_000  # What a group may have of its own, at the least,
    group_share_max_heartbeat_interval_ms: int = 15_000  # and at the most.
    group_share_record_lock_duration_ms: int = 30_000  # A record is a share group's member's for so long.
    group_share_min_record_lock_duration_ms: int = 15_000  # What a group may have of its own, at the least,
    group_share_max_record_lock_duration_ms: int = 60_000  # and at the most.
    group_share_delivery_count_limit: int = 5  # A record that was handed out so often, and never done, is given up.
    group_share_min_delivery_count_limit: int = 2  # What a group may have of its own, at the least,
    group_share_max_delivery_count_limit: int = 10  # and at the most.
    group_share_partition_max_record_locks: int = 2_000  # Records that one partition has handed out to a share group.
    group_share_min_partition_max_record_locks: int = 100  # What a group may have of its own, at the least,
    group_share_max_partition_max_record_locks: int = 4_000  # and at the most.
    group_share_max_size: int = 200  # Members of one share group.
    group_share_max_groups: int = 10_000  # Share groups.
    group_share_max_partitions: int = 50_000  # That all share groups together may read.
    group_share_max_share_sessions: int = 2_000  # Share sessions that are remembered.
    share_coordinator_state_topic_num_partitions: int = 4  # Of the topic of share groups; it never changes.
    offset_metadata_max_bytes: int = 4_096  # Of the text that a client may commit with an offset.
    offsets_retention_minutes: int = 10_080  # Offsets of a group without members are kept for so long.
    offsets_topic_num_partitions: int = 4  # Of the topic that groups are kept in; it never changes.
    transaction_state_log_num_partitions: int = 4  # Of the topic that transactions are kept in; it never changes.
    transaction_max_timeout_ms: int = 900_000  # The longest that a transaction may ask for.
    max_transactional_ids: int = 100_000  # Transactional ids that are remembered.
    transactional_id_expiration_ms: int = 7 * DAY_MS  # A transactional id that was not used for so long is forgotten.

    def __post_init__(self) -> None:
        if self.node_id < 0:
            raise ValueError("node.id must be 0 or more")
        if len(self.broker_rack) > _RACK_SIZE_MAX or not self.broker_rack.isprintable():
            raise ValueError(f"broker.rack must be at most {_RACK_SIZE_MAX} characters that can be printed")
        if self.num_partitions < 1 or self.offsets_topic_num_partitions < 1:
            raise ValueError("num.partitions and offsets.topic.num.partitions must be at least 1")
        if self.transaction_state_log_num_partitions < 1:
            raise ValueError("transaction.state.log.num.partitions must be at least 1")
        if min(self.transaction_max_timeout_ms, self.transactional_id_expiration_ms) < 1:
            raise ValueError("transaction.max.timeout.ms and transactional.id.expiration.ms must be at least 1")
        self._check_limits()
        self._check_listeners()
        self._check_authorizer()
        if self.log_cleanup_policy not in ("delete", "compact", "compact,delete", "delete,compact"):
            raise ValueError("log.cleanup.policy must be delete, compact or both")
        self._check_groups()
        if self.group_consumer_migration_policy.lower() not in ("bidirectional", "upgrade", "downgrade", "disabled"):
            raise ValueError("group.consumer.migration.policy must be bidirectional, upgrade, downgrade or disabled")

    def _check_groups(self) -> None:
        """Times and limits of groups lie where groups may have theirs, as Kafka wants it."""
        for name in _RANGED:
            low, high = range_of(name)
            least, value, most = (getattr(self, each) for each in (low, name, high))
            if not 1 <= least <= value <= most:
                raise ValueError(
                    f"{kafka_name(name)} is {value}: it must be at least {kafka_name(low)}, which is {least}, "
                    f"and at most {kafka_name(high)}, which is {most}"
                )
        for kind in ("consumer", "share"):
            heartbeat, session = f"group_{kind}_heartbeat_interval_ms", f"group_{kind}_session_timeout_ms"
            if getattr(self, heartbeat) >= getattr(self, session):
                raise ValueError(f"{kafka_name(heartbeat)} must be below {kafka_name(session)}")
        for name, (least, most) in _BOUNDS.items():
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{kafka_name(name)} must be from {least} to {most}, as in Kafka")
        assignors = self.consumer_assignors()
        if not assignors or len(set(assignors)) < len(assignors) or not {"uniform", "range"}.issuperset(assignors):
            raise ValueError("group.consumer.assignors must be uniform, range or both: there are no others here")

    def consumer_assignors(self) -> tuple[str, ...]:
        """The assignors of consumer groups, the default one first."""
        return tuple(part.strip() for part in self.group_consumer_assignors.split(",") if part.strip())

    def _check_limits(self) -> None:
        for name in _AT_LEAST_1:
            if getattr(self, name) < 1:
                raise ValueError(f"{kafka_name(name)} must be at least 1")
        for name in _NOT_NEGATIVE:
            if getattr(self, name) < 0:
                raise ValueError(f"{kafka_name(name)} must not be negative")
        overrides_of(self.max_connections_per_ip_overrides)

    def _check_authorizer(self) -> None:
        if self.authorizer_class_name not in ("", *AUTHORIZERS):
            raise ValueError(f"authorizer.class.name: no classes are loaded; {AUTHORIZERS[0]} is built in")
        if (self.super_users or self.allow_everyone_if_no_acl_found) and not self.has_authorizer:
            raise ValueError(f"super.users needs authorizer.class.name={AUTHORIZERS[0]}")
        self._parsed_super_users()

    @property
    def has_authorizer(self) -> bool:
        return bool(self.authorizer_class_name)

    def _parsed_super_users(self) -> list[Principal]:
        try:
            return [Principal.parse(each.strip()) for each in self.super_users.split(";") if each.strip()]
        except Rejected as failure:
            raise ValueError(f"super.users: {failure}; several are separated by ;") from None

    def rules_of(self, rules: Iterable[Rule]) -> Rules:
        """With what the settings add to them."""
        return Rules(rules, self._parsed_super_users(), is_open=self.allow_everyone_if_no_acl_found)

    def _check_listeners(self) -> None:
        names = {each.name.lower() for each in self.parsed_listeners()}
        for name, value in self.listener_overrides.items():
            listener, mechanism, word = _override_of(name)
            if listener not in names:
                raise ValueError(f"{name} is of a listener that is not in listeners (in small letters here)")
            known = _words(_MECHANISM_WORDS if mechanism else _LISTENER_WORDS)
            if word not in known:
                raise ValueError(f"{name}: a listener has no {word} of its own, only {', '.join(sorted(known))}")
            _check_number(name, known[word], value)

    def parsed_listeners(self) -> tuple[Listener, ...]:
        """The listeners that are set."""
        return parse_listeners(self.listeners, self.advertised_listeners, self.listener_security_protocol_map)

    def words_of(self, listener: str, mechanism: str = "") -> dict[str, str]:
        """What is set for one listener about its security, in Kafka's words; the more special counts first.

        With a mechanism: for logins with it, too.
        """
        words: dict[str, object] = {word: getattr(self, field) for word, field in _words(_LISTENER_WORDS).items()}
        for wanted in ("", mechanism.lower()) if mechanism else ("",):
            for name, value in self.listener_overrides.items():
                owner, special, word = _override_of(name)
                if (owner, special) == (listener.lower(), wanted):
                    words[word] = value
        return {name: value.reveal() if isinstance(value, Secret) else str(value) for name, value in words.items()}

    def quota_windows(self) -> tuple[float, float, float]:
        """For how many seconds a quiet client saves its quota: that of what it uses, and that of what it changes; and
        for how many it waits at once if it has used too much time."""
        of_clients = max(self.quota_window_num - 1, 1) * self.quota_window_size_seconds
        of_changes = max(self.controller_quota_window_num - 1, 1) * self.controller_quota_window_size_seconds
        return of_clients, of_changes, self.quota_window_size_seconds

    def topic_defaults(self) -> dict[str, str]:
        """What topics have unless they say otherwise, by the topic config's name."""
        return {
            "cleanup.policy": self.log_cleanup_policy,
            "max.message.bytes": str(self.message_max_bytes),
            "message.timestamp.type": self.log_message_timestamp_type,
            "retention.bytes": str(self.log_retention_bytes),
            "retention.ms": str(self.log_retention_ms),
        }


def _words(beginnings: tuple[str, ...]) -> dict[str, str]:
    """Settings whose fields begin so: Kafka's name, and the field's."""
    return {kafka_name(each.name): each.name for each in fields(BrokerSettings) if each.name.startswith(beginnings)}


def _override_of(name: str) -> tuple[str, str, str]:
    """`listener.name.<listener>.[<mechanism>.]<word>` in its parts."""
    listener, _, word = name.removeprefix(OVERRIDE).partition(".")
    mechanism, _, rest = word.partition(".")
    return (listener, mechanism, rest) if mechanism.upper() in OFFERED else (listener, "", word)


def _check_number(name: str, field: str, value: str | Secret) -> None:
    """Where the broker's own is a number, a listener's is one, too."""
    is_number = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 18
    least = 1 if field in _AT_LEAST_1 else 0
    wanted = next(each.type for each in fields(BrokerSettings) if each.name == field)
    if wanted == "int" and not (is_number and int(str(value)) >= least):
        raise ValueError(f"{name} must be a whole number of at least {least}")


def range_of(name: str) -> tuple[str, str]:
    """The two settings that say where a group's own value may lie."""
    group, kind, rest = name.split("_", 2)
    return f"{group}_{kind}_min_{rest}", f"{group}_{kind}_max_{rest}"


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
