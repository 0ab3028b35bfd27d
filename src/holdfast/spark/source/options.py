"""The options of the source, in the words of Spark's own Kafka source. One that nobody knows is an error."""

from __future__ import annotations

import logging
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from holdfast.catalog.plan import SPLIT_SIZE
from holdfast.client.settings import BOOTSTRAP, WORDS, ClientSettings, words_of
from holdfast.errors import Rejected, nearest
from holdfast.spark.places.options import NAMES as TABLE_NAMES
from holdfast.spark.places.options import PREFIXES as TABLE_PREFIXES
from holdfast.spark.places.options import TableOptions, is_table, parse_table
from holdfast.spark.source.bounds import (
    BadSourceOption,
    Bound,
    Earliest,
    Latest,
    parse_assign,
    parse_offsets,
    parse_time,
    parse_times,
)
from holdfast.spark.source.subscription import Assigned, Matching, NamedTopics, Subscription

log = logging.getLogger(__name__)

STORE_PREFIX = "store."
KAFKA_PREFIX = "kafka."
KNOWN = (
    "path",
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "includeHeaders",
    "failOnDataLoss",
    "splitSize",
    "pushFilters",
    *(f"{KAFKA_PREFIX}{word}" for word in WORDS),
    "kafka.isolation.level",
    *TABLE_NAMES,
)
PROTECTING = ("kafka.security.", "kafka.sasl.", "kafka.ssl.")  # A slip in one of these is an error.
# Of the sink: a view in SQL has one set of options, and is read and written.
OF_SINK = (
    "topic",
    "staging",
    "sinkId",
    "jobId",
    "includeTimestamp",
    "valueFormat",
    "createTopics",
    "maxCommitBytes",
    "stagingGraceHours",
    "kafka.compression.type",
    "kafka.transaction.timeout.ms",
)
# Of Spark's own Kafka source: how its consumers in executors are kept and asked. Nothing here is like it, so they are
# taken, and one line says that they do nothing.
NEEDLESS = (
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
    "kafka.group.id",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
)
_PREFIXES = (STORE_PREFIX, *TABLE_PREFIXES)
_WAYS = ("subscribe", "subscribePattern", "assign")
_ENDINGS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")


@dataclass(frozen=True)
class ReadOptions:
    """What is to be read, and how."""

    path: str
    subscription: Subscription
    starting: Bound
    ending: Bound = field(default_factory=Latest)
    min_partitions: int = 0
    max_records_per_partition: int | None = None
    max_offsets_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    include_headers: bool = False
    fail_on_data_loss: bool = True
    split_size: int = SPLIT_SIZE
    push_filters: bool = False
    kafka: ClientSettings | None = None  # None: only what is stored is read.
    committed: bool = True
    store: Mapping[str, str] = field(default_factory=dict, repr=False)  # May hold credentials.
    table: TableOptions | None = None  # None: records as they are in the log.


def parse(given: Mapping[str, str], *, stream: bool) -> ReadOptions:
    """Options as Spark hands them over: the case of their names does not count."""
    options = {name.lower(): text for name, text in given.items()}
    known = {name.lower(): name for name in KNOWN}
    if not options:
        raise Rejected(
            "Spark hands on no options: it keeps none for a table of a source that is written in Python. Make a view "
            "instead: CREATE TEMPORARY VIEW name USING holdfast OPTIONS (path '…', subscribe '…')"
        )
    of_sink = {name.lower() for name in OF_SINK}
    needless = [name for name in options if is_needless(name, {*known, *of_sink})]
    for name in options:
        if name not in known and name not in of_sink and not name.startswith(_PREFIXES) and name not in needless:
            raise Rejected(f"there is no option {name}{nearest(name, KNOWN)}")
    if needless:
        log.warning("options of Spark's own Kafka source that do nothing here: %s", ", ".join(sorted(needless)))
    named = {known[name]: text for name, text in options.items() if name in known}
    if "topic" in options and not any(way in named for way in _WAYS):
        named["subscribe"] = options["topic"]  # As the sink calls it.
    if "path" not in named:
        raise Rejected("the option path is missing: name a broker's data directory or its store, as in .load(path)")
    if stream:
        _refuse_endings(named)
        if is_table(options):
            raise Rejected("archive and decode are for spark.read: a stream reads the log")
    return ReadOptions(
        path=named["path"],
        subscription=_subscription(named),
        starting=_bound(named, "starting", Latest() if stream else Earliest()),
        ending=_bound(named, "ending", Latest()),
        min_partitions=_number(named, "minPartitions") or 0,
        max_records_per_partition=_number(named, "maxRecordsPerPartition"),
        max_offsets_per_trigger=_number(named, "maxOffsetsPerTrigger"),
        max_bytes_per_trigger=_number(named, "maxBytesPerTrigger"),
        include_headers=_switch(named, "includeHeaders", default=False),
        fail_on_data_loss=_switch(named, "failOnDataLoss", default=True),
        split_size=_number(named, "splitSize") or SPLIT_SIZE,
        push_filters=_switch(named, "pushFilters", default=False),
        kafka=_kafka(named),
        committed=_is_committed(named),
        store={name[len(STORE_PREFIX) :]: text for name, text in options.items() if name.startswith(STORE_PREFIX)},
        table=parse_table(options),
    )


def is_needless(name: str, known: Container[str]) -> bool:
    """Whether an option, in lower case, is one that Spark's own source has and this one has no use for."""
    if name in known:
        return False
    is_clients = name.startswith(KAFKA_PREFIX) and not name.startswith(PROTECTING)
    return is_clients or name in {each.lower() for each in NEEDLESS}


def _kafka(named: Mapping[str, str]) -> ClientSettings | None:
    """How brokers are reached. Whoever says how they are protected wants them asked."""
    words = {word: text for word, text in words_of(named, KAFKA_PREFIX).items() if word != BOOTSTRAP or text}
    return ClientSettings.parse(words) if words else None


def _subscription(named: Mapping[str, str]) -> Subscription:
    ways = [name for name in _WAYS if name in named]
    if len(ways) != 1:
        found = " and ".join(ways) or "none of them"
        raise Rejected(f"give one of subscribe, subscribePattern and assign; there is {found}")
    text = named[ways[0]]
    if ways[0] == "assign":
        return Assigned(parse_assign("assign", text))
    if ways[0] == "subscribe":
        names = frozenset(name.strip() for name in text.split(",") if name.strip())
        if not names:
            raise BadSourceOption("subscribe", text, "one or more topics with commas between them")
        return NamedTopics(names)
    try:
        re.compile(text)
    except re.error as failure:
        raise BadSourceOption("subscribePattern", text, f"a regular expression ({failure})") from None
    return Matching(text)


def _bound(named: Mapping[str, str], side: str, default: Bound) -> Bound:
    """A time goes before times for each partition, and those before offsets, as in Spark's own source."""
    time, times, offsets = f"{side}Timestamp", f"{side}OffsetsByTimestamp", f"{side}Offsets"
    lenient = side == "ending" or _is_lenient(named)
    if time in named:
        return parse_time(time, named[time], lenient=lenient)
    if times in named:
        return parse_times(times, named[times], lenient=lenient)
    if offsets in named:
        return parse_offsets(offsets, named[offsets])
    return default


def _is_lenient(named: Mapping[str, str]) -> bool:
    name = "startingOffsetsByTimestampStrategy"
    text = named.get(name, "error")
    if text not in ("error", "latest"):
        raise BadSourceOption(name, text, "error or latest")
    return text == "latest"


def _is_committed(named: Mapping[str, str]) -> bool:
    name = "kafka.isolation.level"
    text = named.get(name, "read_committed")
    if text not in ("read_committed", "read_uncommitted"):
        raise BadSourceOption(name, text, "read_committed or read_uncommitted")
    return text == "read_committed"


def _refuse_endings(named: Mapping[str, str]) -> None:
    for name in _ENDINGS:
        if name in named:
            raise Rejected(f"a stream has no end: leave out {name}, or use spark.read")


def _number(named: Mapping[str, str], name: str) -> int | None:
    text = named.get(name)
    if text is None:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise BadSourceOption(name, text, "a whole number above 0")
    return int(text)


def _switch(named: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = named.get(name)
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise BadSourceOption(name, text, "true or false")
    return text.lower() == "true"
