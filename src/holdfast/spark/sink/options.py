"""The options of the sink, in the words of Spark's own Kafka sink where it has one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.catalog.store import Store, find_store, typed
from holdfast.client.settings import BOOTSTRAP, WORDS, ClientSettings, words_of
from holdfast.errors import nearest
from holdfast.record.layout import Codec
from holdfast.spark.sink.errors import BadSinkOption
from holdfast.spark.source.options import KNOWN as OF_SOURCE
from holdfast.spark.source.options import OF_SINK, is_needless

log = logging.getLogger(__name__)

_STORE = "store."
_KAFKA = "kafka."
_KNOWN = (*OF_SINK, "path", *(f"{_KAFKA}{word}" for word in WORDS))
_SPARKS_OWN = ("checkpointlocation", "queryname", "outputmode", "includeheaders")  # Meant for Spark, or always so here.

_TIMEOUT_MS = 300_000
_COMMIT_SIZE_MAX = 4 << 30
_GRACE_HOURS = 24


@dataclass(frozen=True)
class SinkOptions:
    """What the sink was told. It travels to executors."""

    kafka: ClientSettings
    staging: Store
    topic: str | None = None
    sink_id: str | None = None  # Streams without one take the query's id.
    job_id: str | None = None  # A batch job that must not be written twice.
    codec: int = Codec.LZ4
    include_timestamp: bool = False
    json_values: bool = False  # A value of whatever type is written as JSON.
    create_topics: int = 0  # Topics that are not there are made with so many partitions; 0: that is an error.
    transaction_timeout_ms: int = _TIMEOUT_MS
    commit_size_max: int = _COMMIT_SIZE_MAX
    grace_hours: int = _GRACE_HOURS


def read_options(given: Mapping[str, str], kafka: ClientSettings | None = None) -> SinkOptions:
    """The options of one write. One that nobody knows is an error that names the nearest.

    `kafka` is how to reach the cluster, for who does not say it by options.
    """
    lower = {name.lower(): value for name, value in given.items()}
    store = {name.removeprefix(_STORE): value for name, value in lower.items() if name.startswith(_STORE)}
    _check_names(name for name in given if not name.lower().startswith(_STORE))
    return SinkOptions(
        kafka=kafka or _kafka(lower),
        staging=_staging(lower, store),
        topic=lower.get("topic") or _only_topic(lower.get("subscribe", "")),
        sink_id=lower.get("sinkid"),
        job_id=lower.get("jobid"),
        codec=_codec(lower.get("kafka.compression.type", "lz4")),
        include_timestamp=_switch(lower, "includeTimestamp"),
        json_values=_is_json(lower.get("valueformat")),
        create_topics=_number(lower, "createTopics", 0),
        transaction_timeout_ms=_number(lower, "kafka.transaction.timeout.ms", _TIMEOUT_MS),
        commit_size_max=_number(lower, "maxCommitBytes", _COMMIT_SIZE_MAX),
        grace_hours=_number(lower, "stagingGraceHours", _GRACE_HOURS),
    )


def _kafka(lower: Mapping[str, str]) -> ClientSettings:
    words = words_of(lower, _KAFKA)
    if BOOTSTRAP not in words:
        raise BadSinkOption(_KAFKA + BOOTSTRAP, "is missing: the driver commits through a broker, name its address")
    return ClientSettings.parse(words)


def _check_names(names: Iterable[str]) -> None:
    known = {each.lower() for each in (*_KNOWN, *OF_SOURCE)} | set(_SPARKS_OWN)  # A view is read and written.
    needless = []
    for name in names:
        if is_needless(name.lower(), known):
            needless.append(name)
        elif name.lower() not in known:
            raise BadSinkOption(name, f"is unknown to the sink{nearest(name, _KNOWN)}")
    if needless:
        log.warning("options of Spark's own Kafka sink that do nothing here: %s", ", ".join(sorted(needless)))


def _staging(lower: Mapping[str, str], store: Mapping[str, str]) -> Store:
    """Where executors put what they have encoded: a place of its own, or the store of the cluster."""
    if "staging" in lower:
        place = lower["staging"]
        return Store(place if "://" in place else str(Path(place).absolute()), typed(store))
    if "path" in lower:
        return find_store(lower["path"], store)
    raise BadSinkOption(
        "staging",
        "is missing: executors stage what they write before the driver commits it. Name a directory or bucket that "
        "driver and executors share, or give path, the broker's data directory or store",
    )


def _only_topic(subscribe: str) -> str | None:
    """The topic of a view that is read and written, where it is one."""
    names = [name.strip() for name in subscribe.split(",") if name.strip()]
    return names[0] if len(names) == 1 else None


def _is_json(text: str | None) -> bool:
    if text not in (None, "json"):
        raise BadSinkOption("valueFormat", f"is {text!r}, but it must be json, or be left out")
    return text == "json"


def _codec(name: str) -> int:
    try:
        return Codec[name.upper()]
    except KeyError:
        raise BadSinkOption("kafka.compression.type", f"{name} is none of none, gzip, snappy, lz4, zstd") from None


def _number(lower: Mapping[str, str], name: str, default: int) -> int:
    text = lower.get(name.lower())
    if text is None:
        return default
    if not text.isdecimal() or not int(text):
        raise BadSinkOption(name, f"is {text!r}, but it must be a whole number above 0")
    return int(text)


def _switch(lower: Mapping[str, str], name: str) -> bool:
    text = lower.get(name.lower(), "false").lower()
    if text not in ("true", "false"):
        raise BadSinkOption(name, f"is {text!r}, but it must be true or false")
    return text == "true"
