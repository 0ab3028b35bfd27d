"""Topic configs in Kafka's words: which there are, what they may be, and what they mean to a partition.

One table. Every config does what Kafka says of it; or what it asks for is so in any case; or only the one value that is
true here is taken, and every other refused with a sentence. The table says which.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace

from holdfast.cluster import topic_table
from holdfast.errors import Rejected
from holdfast.log.settings import PartitionSettings
from holdfast.record.layout import Codec

_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
SIZE_MAX = 64 << 10  # Of all configs of a topic together.
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS


class ConfigInvalid(Rejected):
    """A config is unknown, or has a value it may not have."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"config {name}: {reason}")
        self.name = name
        self.reason = reason


class ConfigKind(enum.IntEnum):
    """The type of a config, as DescribeConfigs numbers it."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSource(enum.IntEnum):
    """Where a value comes from, as DescribeConfigs numbers it."""

    TOPIC = 1
    DYNAMIC_BROKER = 2  # Set for one broker while it ran,
    DYNAMIC_DEFAULT = 3  # or for all of them.
    BROKER = 4  # A setting of the broker that is not the default.
    DEFAULT = 5
    GROUP = 8  # Of one group.


@dataclass(frozen=True, slots=True)
class Config:
    """One config."""

    name: str
    kind: ConfigKind
    default: str
    effect: str  # What it does here, or why what it asks for is so in any case.
    low: int = -1
    high: int = _LONG_MAX
    choices: frozenset[str] = frozenset()
    broker_name: str = ""  # The broker's setting that is its default.
    fixed: bool = False  # Only the default is taken: `effect` says why.

    def check(self, value: str) -> None:
        """Raise unless `value` is one it may have."""
        try:
            self._check(value)
        except ValueError as failure:
            raise ConfigInvalid(self.name, f"{value!r} is not {failure}") from None
        if self.fixed and value != self.default:
            raise ConfigInvalid(self.name, f"only {self.default!r} is taken, not {value!r}: {self.effect}")

    def _check(self, value: str) -> None:
        if self.kind in (ConfigKind.INT, ConfigKind.LONG):
            if not _is_number(value) or not self.low <= int(value) <= self.high:
                raise ValueError(f"a whole number from {self.low} to {self.high}")
        elif self.kind is ConfigKind.BOOLEAN:
            if value not in ("true", "false"):
                raise ValueError("true or false")
        elif self.kind is ConfigKind.DOUBLE:
            if not _is_fraction(value):
                raise ValueError("a number from 0 to 1")
        elif self.choices:
            parts = {part.strip() for part in value.split(",")} if self.kind is ConfigKind.LIST else {value}
            if not parts <= self.choices:
                raise ValueError(f"of {', '.join(sorted(self.choices))}")
        elif self.name in topic_table.CHECKS:
            topic_table.CHECKS[self.name](value)


def _is_number(value: str) -> bool:
    return value.removeprefix("-").isdecimal() and value.isascii()


def _is_fraction(value: str) -> bool:
    try:
        return 0 <= float(value) <= 1
    except ValueError:
        return False


_CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}

# Why what is asked for is so in any case, or cannot be otherwise.
_ALONE = "there is one broker, and what is durable is in its write-ahead log or in the store"
_CODEC = "what all batches are stored in; those of other producers are compressed again, which costs time"
_LEVEL = "a codec has one level here"
_DURABLE = "kept in any case: every batch is made durable before it is acknowledged"
_INDEX = "kept in any case: every segment has an index of its own, of a few bytes for each piece that is read at once"
_NOT_TIERED = "all segments are in the store, and there is no second place"

# What Kafka calls a topic's config where it is the default of all topics. Only what is named in a config's row itself
# is also a setting; the others can be set while the broker runs.
_OF_BROKER: Mapping[str, str] = {
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "local.retention.bytes": "log.local.retention.bytes",
    "local.retention.ms": "log.local.retention.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}

TOPIC_CONFIGS: Mapping[str, Config] = {
    each.name: each if each.broker_name else replace(each, broker_name=_OF_BROKER.get(each.name, ""))
    for each in [
        Config(
            "cleanup.policy",
            ConfigKind.LIST,
            "delete",
            "delete old segments, compact by key, or both",
            choices=frozenset({"delete", "compact"}),
            broker_name="log.cleanup.policy",
        ),
        Config("compression.gzip.level", ConfigKind.INT, "-1", _LEVEL, high=9, fixed=True),
        Config("compression.lz4.level", ConfigKind.INT, "9", _LEVEL, low=1, high=17, fixed=True),
        Config("compression.type", ConfigKind.STRING, "producer", _CODEC, choices=frozenset({"producer", *_CODECS})),
        Config("compression.zstd.level", ConfigKind.INT, "3", _LEVEL, low=-131072, high=22, fixed=True),
        Config("delete.retention.ms", ConfigKind.LONG, str(DAY_MS), "how long tombstones are kept", low=0),
        Config(
            "file.delete.delay.ms",
            ConfigKind.LONG,
            "60000",
            "kept in any case: what no manifest lists any more is deleted an hour later at the earliest",
            low=0,
            high=HOUR_MS,
        ),
        Config("flush.messages", ConfigKind.LONG, str(_LONG_MAX), _DURABLE, low=1),
        Config("flush.ms", ConfigKind.LONG, str(_LONG_MAX), _DURABLE, low=0),
        Config("follower.replication.throttled.replicas", ConfigKind.LIST, "", _ALONE),
        Config(
            "holdfast.durability",
            ConfigKind.STRING,
            "fsync",
            "whether an ack waits for the fsync, or only for memory",
            choices=frozenset({"fsync", "memory"}),
        ),
        Config(
            topic_table.FORMAT,
            ConfigKind.STRING,
            "",
            "which kind of table `holdfast tables run` makes of the topic; without it, none",
            choices=topic_table.FORMATS,
        ),
        Config(
            topic_table.FRESHNESS_MS,
            ConfigKind.LONG,
            str(topic_table.DEFAULT_FRESHNESS_MS),
            "how old a record may be before it is in the table",
            low=topic_table.FRESHNESS_MS_MIN,
        ),
        Config(
            topic_table.KEEP_VALUE,
            ConfigKind.BOOLEAN,
            "false",
            "whether the table has values as they came, too, beside their columns",
        ),
        Config(topic_table.LOCATION, ConfigKind.STRING, "", "where the table is: a directory, or a bucket"),
        Config(
            topic_table.VALUE_FORMAT,
            ConfigKind.STRING,
            "",
            "how values become columns of the table; without it they stay as they came",
            choices=topic_table.VALUE_FORMATS,
        ),
        Config(
            topic_table.VALUE_SCHEMA,
            ConfigKind.STRING,
            "",
            "the Avro schema of the values, for JSON too: as it stands, a file where `tables run` runs, or "
            "`subject:NAME` of its registry",
        ),
        Config(
            "holdfast.validate.records",
            ConfigKind.BOOLEAN,
            "true",
            "whether records are looked at before they are acknowledged; `false` takes whatever has a right crc",
        ),
        Config("index.interval.bytes", ConfigKind.INT, "4096", _INDEX, low=0, high=_INT_MAX),
        Config("leader.replication.throttled.replicas", ConfigKind.LIST, "", _ALONE),
        Config("local.retention.bytes", ConfigKind.LONG, "-2", _NOT_TIERED, low=-2, fixed=True),
        Config("local.retention.ms", ConfigKind.LONG, "-2", _NOT_TIERED, low=-2, fixed=True),
        Config(
            "max.compaction.lag.ms",
            ConfigKind.LONG,
            str(_LONG_MAX),
            "after this time records are compacted, however little is dirty",
            low=1,
        ),
        Config(
            "max.message.bytes",
            ConfigKind.INT,
            "1048588",
            "the largest batch, in bytes",
            low=0,
            high=_INT_MAX,
            broker_name="message.max.bytes",
        ),
        Config(
            "message.timestamp.after.max.ms",
            ConfigKind.LONG,
            str(HOUR_MS),
            "how far a record may be ahead of the broker's time: more is refused",
            low=0,
        ),
        Config(
            "message.timestamp.before.max.ms",
            ConfigKind.LONG,
            str(_LONG_MAX),
            "how far a record may be behind the broker's time: more is refused",
            low=0,
        ),
        Config(
            "message.timestamp.type",
            ConfigKind.STRING,
            "CreateTime",
            "whose time a record has: its producer's or the broker's",
            choices=frozenset({"CreateTime", "LogAppendTime"}),
            broker_name="log.message.timestamp.type",
        ),
        Config(
            "min.cleanable.dirty.ratio",
            ConfigKind.DOUBLE,
            "0.5",
            "from which part of the bytes on that may hold keys twice a partition is compacted",
        ),
        Config(
            "min.compaction.lag.ms",
            ConfigKind.LONG,
            "0",
            "so long after its timestamp no record is compacted away",
            low=0,
        ),
        Config("min.insync.replicas", ConfigKind.INT, "1", _ALONE, low=1, high=_INT_MAX, fixed=True),
        Config(
            "preallocate",
            ConfigKind.BOOLEAN,
            "false",
            "kept in any case: the files of the write-ahead log are used again, and segments are put whole",
        ),
        Config("remote.log.copy.disable", ConfigKind.BOOLEAN, "false", _NOT_TIERED, fixed=True),
        Config("remote.log.delete.on.disable", ConfigKind.BOOLEAN, "false", _NOT_TIERED, fixed=True),
        Config("remote.storage.enable", ConfigKind.BOOLEAN, "false", _NOT_TIERED, fixed=True),
        Config(
            "retention.bytes",
            ConfigKind.LONG,
            "-1",
            "how much of a partition is kept, in bytes; -1 is all",
            broker_name="log.retention.bytes",
        ),
        Config(
            "retention.ms",
            ConfigKind.LONG,
            str(7 * DAY_MS),
            "how long records are kept; -1 is for ever",
            broker_name="log.retention.ms",
        ),
        Config(
            "segment.bytes",
            ConfigKind.INT,
            "1073741824",
            "a tail of this size becomes a segment, after a second at the earliest if that is less than "
            "`log.segment_size_max`, and of that size in any case",
            low=14,
            high=_INT_MAX,
        ),
        Config("segment.index.bytes", ConfigKind.INT, "10485760", _INDEX, low=4, high=_INT_MAX),
        Config(
            "segment.jitter.ms",
            ConfigKind.LONG,
            "0",
            "kept in any case: it allows `segment.ms` to be less by up to so much, at random",
            low=0,
        ),
        Config(
            "segment.ms",
            ConfigKind.LONG,
            str(7 * DAY_MS),
            "after this time, one second at least, a tail becomes a segment; after `log.flush_age_ms_max` in any case",
            low=1,
        ),
        Config("unclean.leader.election.enable", ConfigKind.BOOLEAN, "false", _ALONE),
    ]
}


_COMPACTION_LAGS = "min.compaction.lag.ms", "max.compaction.lag.ms"


def check_topic_configs(configs: Mapping[str, str], present: Mapping[str, str] | None = None) -> None:
    """Raise for the first config that is unknown or has a wrong value. What a topic has already may stay."""
    size = sum(len(name) + len(value) for name, value in configs.items())
    if size > SIZE_MAX:
        raise ConfigInvalid(
            next(iter(configs)), f"all configs of a topic together have {size} bytes, {SIZE_MAX} at most"
        )
    for name, value in configs.items():
        if present is not None and present.get(name) == value:
            continue
        if name not in TOPIC_CONFIGS:
            raise ConfigInvalid(name, "there is no such topic config")
        TOPIC_CONFIGS[name].check(value)
    low, high = (int(configs.get(name) or TOPIC_CONFIGS[name].default) for name in _COMPACTION_LAGS)
    if low > high:
        raise ConfigInvalid(_COMPACTION_LAGS[0], f"it is {low}, and {_COMPACTION_LAGS[1]} is less, {high}")
    if (wrong := topic_table.misfit(configs)) is not None:
        raise ConfigInvalid(*wrong)


def effective(name: str, configs: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """The value of a topic's config: its own, the broker's default, or Kafka's."""
    return configs.get(name) or defaults.get(name) or TOPIC_CONFIGS[name].default


def append_items(value: str, items: str) -> str:
    """A list config with more items; none is listed twice."""
    return ",".join(dict.fromkeys([*split_list(value), *split_list(items)]))


def subtract_items(value: str, items: str) -> str:
    """A list config without some items."""
    gone = split_list(items)
    return ",".join(each for each in split_list(value) if each not in gone)


def split_list(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def partition_settings(configs: Mapping[str, str], defaults: Mapping[str, str]) -> PartitionSettings:
    """What a topic's configs mean to its partitions."""

    def value(name: str) -> str:
        return effective(name, configs, defaults)

    return PartitionSettings(
        durability="memory" if value("holdfast.durability") == "memory" else "fsync",
        timestamp_type="log_append" if value("message.timestamp.type") == "LogAppendTime" else "create",
        batch_size_max=int(value("max.message.bytes")),
        cleanup=frozenset(
            "compact" if part.strip() == "compact" else "delete" for part in value("cleanup.policy").split(",")
        ),
        retention_ms=int(value("retention.ms")),
        retention_size=int(value("retention.bytes")),
        tombstone_retention_ms=int(value("delete.retention.ms")),
        segment_size_max=int(value("segment.bytes")),
        segment_age_ms_max=int(value("segment.ms")),
        dirty_ratio_min=float(value("min.cleanable.dirty.ratio")),
        compaction_lag_ms_min=int(value("min.compaction.lag.ms")),
        compaction_lag_ms_max=int(value("max.compaction.lag.ms")),
        codec=_CODECS.get(value("compression.type")),  # None: as its producer sent it.
        validates_records=value("holdfast.validate.records") == "true",
        timestamp_before_ms_max=int(value("message.timestamp.before.max.ms")),
        timestamp_after_ms_max=int(value("message.timestamp.after.max.ms")),
    )
