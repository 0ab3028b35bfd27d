"""Topic configs in Kafka's words: which there are, what they may be, and what they mean to a partition.

One table. Those that mean nothing here are shown with Kafka's default, so that tools find what they look for, and are
accepted so that scripts written for Kafka run; the table says of each whether it has an effect.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.errors import Rejected
from holdfast.log.settings import PartitionSettings

_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS


class ConfigInvalid(Rejected):
    """A config is unknown, or has a value it may not have."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"config {name}: {reason}")
        self.name = name
        self.reason = reason


class Kind(enum.IntEnum):
    """The type of a config, as DescribeConfigs numbers it."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class Source(enum.IntEnum):
    """Where a value comes from, as DescribeConfigs numbers it."""

    TOPIC = 1
    BROKER = 4  # A setting of the broker that is not the default.
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Config:
    """One config."""

    name: str
    kind: Kind
    default: str
    effect: str  # What it does here; empty: nothing.
    low: int = -1
    high: int = _LONG_MAX
    choices: frozenset[str] = frozenset()
    broker_name: str = ""  # The broker's setting that is its default.

    def check(self, value: str) -> None:
        """Raise unless `value` is one it may have."""
        try:
            self._check(value)
        except ValueError as failure:
            raise ConfigInvalid(self.name, f"{value!r} is not {failure}") from None

    def _check(self, value: str) -> None:
        if self.kind in (Kind.INT, Kind.LONG):
            if not _is_number(value) or not self.low <= int(value) <= self.high:
                raise ValueError(f"a whole number from {self.low} to {self.high}")
        elif self.kind is Kind.BOOLEAN:
            if value not in ("true", "false"):
                raise ValueError("true or false")
        elif self.kind is Kind.DOUBLE:
            if not _is_fraction(value):
                raise ValueError("a number from 0 to 1")
        elif self.choices:
            parts = {part.strip() for part in value.split(",")} if self.kind is Kind.LIST else {value}
            if not parts <= self.choices:
                raise ValueError(f"of {', '.join(sorted(self.choices))}")


def _is_number(value: str) -> bool:
    return value.removeprefix("-").isdecimal() and value.isascii()


def _is_fraction(value: str) -> bool:
    try:
        return 0 <= float(value) <= 1
    except ValueError:
        return False


_CODECS = frozenset({"producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"})

TOPIC_CONFIGS: Mapping[str, Config] = {
    each.name: each
    for each in [
        Config(
            "cleanup.policy",
            Kind.LIST,
            "delete",
            "delete old segments, compact by key, or both",
            choices=frozenset({"delete", "compact"}),
            broker_name="log.cleanup.policy",
        ),
        Config("compression.gzip.level", Kind.INT, "-1", "", high=9),
        Config("compression.lz4.level", Kind.INT, "9", "", low=1, high=17),
        Config("compression.type", Kind.STRING, "producer", "", choices=_CODECS),
        Config("compression.zstd.level", Kind.INT, "3", "", low=-131072, high=22),
        Config("delete.retention.ms", Kind.LONG, str(DAY_MS), "how long tombstones are kept", low=0),
        Config("file.delete.delay.ms", Kind.LONG, "60000", "", low=0),
        Config("flush.messages", Kind.LONG, str(_LONG_MAX), "", low=1),
        Config("flush.ms", Kind.LONG, str(_LONG_MAX), "", low=0),
        Config("follower.replication.throttled.replicas", Kind.LIST, "", ""),
        Config(
            "holdfast.durability",
            Kind.STRING,
            "fsync",
            "whether an ack waits for the fsync, or only for memory",
            choices=frozenset({"fsync", "memory"}),
        ),
        Config(
            "holdfast.validate.records",
            Kind.BOOLEAN,
            "true",
            "whether records are looked at before they are acknowledged; `false` takes whatever has a right crc",
        ),
        Config("index.interval.bytes", Kind.INT, "4096", "", low=0, high=_INT_MAX),
        Config("leader.replication.throttled.replicas", Kind.LIST, "", ""),
        Config("local.retention.bytes", Kind.LONG, "-2", "", low=-2),
        Config("local.retention.ms", Kind.LONG, "-2", "", low=-2),
        Config("max.compaction.lag.ms", Kind.LONG, str(_LONG_MAX), "", low=1),
        Config(
            "max.message.bytes",
            Kind.INT,
            "1048588",
            "the largest batch, in bytes",
            low=0,
            high=_INT_MAX,
            broker_name="message.max.bytes",
        ),
        Config(
            "message.timestamp.after.max.ms",
            Kind.LONG,
            str(HOUR_MS),
            "how far a record may be ahead of the broker's time: more is refused",
            low=0,
        ),
        Config(
            "message.timestamp.before.max.ms",
            Kind.LONG,
            str(_LONG_MAX),
            "how far a record may be behind the broker's time: more is refused",
            low=0,
        ),
        Config(
            "message.timestamp.type",
            Kind.STRING,
            "CreateTime",
            "whose time a record has: its producer's or the broker's",
            choices=frozenset({"CreateTime", "LogAppendTime"}),
            broker_name="log.message.timestamp.type",
        ),
        Config("min.cleanable.dirty.ratio", Kind.DOUBLE, "0.5", ""),
        Config("min.compaction.lag.ms", Kind.LONG, "0", "", low=0),
        Config("min.insync.replicas", Kind.INT, "1", "", low=1, high=_INT_MAX),
        Config("preallocate", Kind.BOOLEAN, "false", ""),
        Config("remote.log.copy.disable", Kind.BOOLEAN, "false", ""),
        Config("remote.log.delete.on.disable", Kind.BOOLEAN, "false", ""),
        Config("remote.storage.enable", Kind.BOOLEAN, "false", ""),
        Config(
            "retention.bytes",
            Kind.LONG,
            "-1",
            "how much of a partition is kept, in bytes; -1 is all",
            broker_name="log.retention.bytes",
        ),
        Config(
            "retention.ms",
            Kind.LONG,
            str(7 * DAY_MS),
            "how long records are kept; -1 is for ever",
            broker_name="log.retention.ms",
        ),
        Config("segment.bytes", Kind.INT, "1073741824", "", low=14, high=_INT_MAX),
        Config("segment.index.bytes", Kind.INT, "10485760", "", low=4, high=_INT_MAX),
        Config("segment.jitter.ms", Kind.LONG, "0", "", low=0),
        Config("segment.ms", Kind.LONG, str(7 * DAY_MS), "", low=1),
        Config("unclean.leader.election.enable", Kind.BOOLEAN, "false", ""),
    ]
}


def check_topic_configs(configs: Mapping[str, str]) -> None:
    """Raise for the first config that is unknown or has a wrong value."""
    for name, value in configs.items():
        if name not in TOPIC_CONFIGS:
            raise ConfigInvalid(name, "there is no such topic config")
        TOPIC_CONFIGS[name].check(value)


def effective(name: str, configs: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """The value of a topic's config: its own, the broker's default, or Kafka's."""
    return configs.get(name) or defaults.get(name) or TOPIC_CONFIGS[name].default


def source_of(name: str, configs: Mapping[str, str], defaults: Mapping[str, str]) -> Source:
    """Where that value comes from."""
    if configs.get(name):
        return Source.TOPIC
    return Source.BROKER if defaults.get(name, "") not in ("", TOPIC_CONFIGS[name].default) else Source.DEFAULT


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
        validates_records=value("holdfast.validate.records") == "true",
        timestamp_before_ms_max=int(value("message.timestamp.before.max.ms")),
        timestamp_after_ms_max=int(value("message.timestamp.after.max.ms")),
    )
