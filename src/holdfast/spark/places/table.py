"""A topic as one DataFrame: archived files by Spark's own reader of Parquet, the rest from segments and the broker.

What is read where is decided once, when the frame is made: files and ends of one commit of the archive, and the log
from exactly there to where it ended at that moment. So every query on the frame sees the same records, whatever is
archived, merged or expired meanwhile.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any

from holdfast.catalog.rows import TYPES
from holdfast.errors import Rejected
from holdfast.spark.places import options as words
from holdfast.spark.places.archived import ArchivedState
from holdfast.spark.places.shape import IN_ARCHIVE, shape_of
from holdfast.spark.places.source import spark_schema, spark_type
from holdfast.spark.places.split import TableSplit, split
from holdfast.spark.source.options import parse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger(__name__)
_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_BACKTICK = "`"
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_LISTED_MAX = 10_000


def table(
    spark: SparkSession,
    topics: str,
    path: str,
    *,
    archive: str = words.AUTO,
    bootstrap: str | None = None,
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """The records of a topic, or of some with commas between them, wherever they are.

    `archive` is what `holdfast archive` or `holdfast tables run` has written; by default it is where the topic's own
    configs say. With `bootstrap` what the broker has not flushed is there, too. `columns` leaves out what is not
    needed. `options` are those of `format("holdfast")`.
    """
    given = {"path": path, "subscribe": topics, words.ARCHIVE: archive, **(options or {})}
    if bootstrap is not None:
        given["kafka.bootstrap.servers"] = bootstrap
    if columns is not None and "headers" in columns:
        given["includeHeaders"] = "true"
    read = parse(given, stream=False)
    found = split(read, columns)
    names = list(columns or found.look.shape.columns)
    types = found.look.shape.types(names)
    frames = []
    if found.archived:
        frames.append(_archived(spark, found, names, types, given))
    if found.live or not frames:
        frames.append(_live(spark, found, names, types, given))
    return reduce(lambda one, other: one.unionByName(other), frames)


def view(spark: SparkSession, name: str, topics: str, path: str, **how: Any) -> DataFrame:
    """The same as a temporary view for SQL, which is replaced if it is there; made again, it sees what is new."""
    frame = table(spark, topics, path, **how)
    frame.createOrReplaceTempView(name)
    return frame


def _archived(
    spark: SparkSession, found: TableSplit, names: list[str], types: Mapping[str, Any], given: Mapping[str, str]
) -> DataFrame:
    """By Spark's own reader, unless it cannot reach the files."""
    archive = found.look.archive
    assert archive is not None
    if "://" in archive.store.url and not _has_s3a(spark):
        _log.warning("Spark has no %s to read %s with: pyarrow reads it, which is slower", _S3A, archive.place)
        ends = {where: each.end for where, each in found.archived.items()}
        starts = {where: each.start for where, each in found.archived.items()}
        return _by_source(spark, types, given, starts, ends)
    frames = []
    for topic in sorted({where.topic for where in found.archived}):
        files = [archive.url(each.name) for each in found.look.state.files if each.topic == topic]
        if files:
            frames.append(_files(spark, found, topic, files, names, types))
    if not frames:  # Offsets without a record: markers, and what was aborted.
        return _nothing(spark, types)
    return reduce(lambda one, other: one.unionByName(other), frames)


def _files(
    spark: SparkSession, found: TableSplit, topic: str, files: list[str], names: list[str], types: Mapping[str, Any]
) -> DataFrame:
    from pyspark.sql.functions import col, expr, lit

    inside = {IN_ARCHIVE.get(name, name): kind for name, kind in types.items() if name != "topic"}
    inside |= {name: TYPES[name] for name in ("partition", "offset")}
    reader = spark.read.schema(spark_schema(inside)).option("__globPaths__", "false").option("mergeSchema", "false")
    reader = reader.option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    with _listed_here(spark, files):
        frame = reader.parquet(*files)
    if not found.is_whole:
        frame = frame.where(expr(_condition(found, topic)))
    chosen = []
    for name in names:
        if name == "topic":
            chosen.append(lit(topic).alias(name))
        elif name == "headers":  # A record without any has null, as in the log.
            chosen.append(expr("CASE WHEN size(headers) > 0 THEN headers END").alias(name))
        else:
            chosen.append(col(_quoted(IN_ARCHIVE.get(name, name))).alias(name))
    return frame.select(*chosen)


@contextmanager
def _listed_here(spark: SparkSession, files: Sequence[str]) -> Iterator[None]:
    """Spark looks at each file that it is told of, and for more than 32 starts a job with a task for each. For files of
    this machine that costs more than everything else."""
    before = spark.conf.get(_LISTING)
    if files[0].startswith("file:") and len(files) <= _LISTED_MAX:
        spark.conf.set(_LISTING, str(max(len(files), int(before or 0))))
    try:
        yield
    finally:
        spark.conf.set(_LISTING, str(before))


def _condition(found: TableSplit, topic: str) -> str:
    """Where only some of what is archived is wanted."""
    ranges = [(where.partition, each) for where, each in found.archived.items() if where.topic == topic]
    return " OR ".join(
        f"(partition = {number} AND offset >= {each.start} AND offset < {each.end})" for number, each in ranges
    )


def _live(
    spark: SparkSession, found: TableSplit, names: list[str], types: Mapping[str, Any], given: Mapping[str, str]
) -> DataFrame:
    """From the log, with the archive left alone: it may have grown since, and these are not of it."""
    from pyspark.sql.functions import col, lit

    kept = {name: text for name, text in given.items() if not words.is_table({name: text})}
    decoding = found.look.shape.decoding_of(names)
    if decoding is not None:
        kept |= {
            words.DECODE: decoding.kind,
            words.DECODE_SCHEMA: decoding.schema_json,
            words.DECODE_REGISTRY: decoding.registry,
            words.DECODE_KEEP: str(decoding.keep_value).lower(),
            words.DECODE_NAMES: json.dumps(decoding.names),
        }
    if not found.live:
        return _nothing(spark, types)
    own = shape_of(decoding, ArchivedState(), include_headers=True).known  # Which may be narrower than the archive's.
    there = {name: own[name] for name in names if name in own}
    starts = {where: each.start for where, each in found.live.items()}
    ends = {where: each.end for where, each in found.live.items()}
    frame = _by_source(spark, there or {"offset": TYPES["offset"]}, kept, starts, ends)
    kinds = {name: spark_type(name, kind) for name, kind in types.items()}
    return frame.select(
        *((col(_quoted(name)) if name in there else lit(None)).cast(kind).alias(name) for name, kind in kinds.items())
    )


def _nothing(spark: SparkSession, types: Mapping[str, Any]) -> DataFrame:
    return spark.createDataFrame([], spark_schema(types))


def _by_source(
    spark: SparkSession,
    types: Mapping[str, Any],
    given: Mapping[str, str],
    starts: Mapping[Any, int],
    ends: Mapping[Any, int],
) -> DataFrame:
    exact = {name: text for name, text in given.items() if name.lower() not in ("subscribe", "topic", "assign")}
    exact["assign"] = json.dumps(_by_topic({where: where.partition for where in starts}, list))
    exact["startingOffsets"] = json.dumps(_by_topic(starts, dict))
    exact["endingOffsets"] = json.dumps(_by_topic(ends, dict))
    return spark.read.format("holdfast").schema(spark_schema(types)).options(**exact).load()


def _by_topic(offsets: Mapping[Any, int], kind: type) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for where, number in sorted(offsets.items()):
        if kind is list:
            made.setdefault(where.topic, []).append(number)
        else:
            made.setdefault(where.topic, {})[str(where.partition)] = number
    return made


def _quoted(name: str) -> str:
    if _BACKTICK in name:
        raise Rejected(f"a column whose name has a backtick cannot be read: {name}")
    return f"{_BACKTICK}{name}{_BACKTICK}"


def _has_s3a(spark: Any) -> bool:
    """Whether a session can read buckets by itself; of one that is elsewhere it is taken for granted."""
    machine = getattr(spark, "_jvm", None)
    if machine is None:
        return True
    try:
        machine.java.lang.Class.forName(_S3A)
    except Exception:  # The JVM's own words for a class that is not there.
        return False
    return True
