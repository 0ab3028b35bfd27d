"""Filters that Spark pushes down, as what they leave to be read: topics, partitions, offsets, times, and keys.

By keys, and by what is null, rows are left out on executors before they go into the JVM. Spark pushes no expressions,
such as the length of a value, and nothing of what is inside headers.

A filter that is not understood leaves everything. Spark applies all of them to the rows again, so that nothing here can
make an answer wrong by being too generous.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from holdfast.catalog.times import ALWAYS, EARLIEST, LATEST, Times
from holdfast.types import OffsetRange, TopicPartition

_ALL = OffsetRange(EARLIEST, LATEST)
_MAY_BE_NULL = ("key", "value", "headers")


@dataclass(frozen=True)
class WantedRows:
    """What filters leave."""

    offsets: OffsetRange = _ALL
    times: Times = ALWAYS
    partitions: OffsetRange = _ALL
    partition_set: frozenset[int] | None = None
    topics: frozenset[str] | None = None
    topic_start: str = ""
    keys: frozenset[bytes] | None = None
    nulls: tuple[tuple[str, bool], ...] = ()  # Columns, and whether they must be null.

    def has(self, where: TopicPartition) -> bool:
        """Whether a partition may have a wanted row."""
        topic, number = where
        return (
            (self.topics is None or topic in self.topics)
            and topic.startswith(self.topic_start)
            and self.partitions.start <= number < self.partitions.end
            and (self.partition_set is None or number in self.partition_set)
        )

    def of(self, wanted: OffsetRange) -> OffsetRange:
        """What is left of a range of offsets."""
        start = max(wanted.start, self.offsets.start)
        return OffsetRange(start, max(start, min(wanted.end, self.offsets.end)))

    def sifted(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that may be wanted, by their keys and by what is null in them."""
        there = rows.schema.names
        for name, must_be in self.nulls:
            if name in there:
                is_null = rows.column(name).is_null()
                rows = rows.filter(is_null if must_be else pc.invert(is_null))
        if self.keys is not None and "key" in there:
            rows = rows.filter(pc.is_in(rows.column("key"), value_set=pa.array(sorted(self.keys), pa.binary())))
        return rows


EVERYTHING = WantedRows()


def wanted_by(filters: Iterable[Filter]) -> WantedRows:
    """What is left when all of these hold."""
    wanted = EVERYTHING
    for each in filters:
        wanted = _narrowed(wanted, each)
    return wanted


def _narrowed(wanted: WantedRows, each: Any) -> WantedRows:
    attribute: tuple[str, ...] = getattr(each, "attribute", ())
    if isinstance(each, IsNull | IsNotNull) and len(attribute) == 1 and attribute[0] in _MAY_BE_NULL:
        return replace(wanted, nulls=(*wanted.nulls, (attribute[0], isinstance(each, IsNull))))
    if len(attribute) != 1 or getattr(each, "value", None) is None:
        return wanted
    name, value = attribute[0], each.value
    if name == "topic":
        return _with_topic(wanted, each)
    if name == "key" and isinstance(each, EqualTo | EqualNullSafe | In):
        keys = frozenset(map(bytes, _values(value)))
        return replace(wanted, keys=keys if wanted.keys is None else wanted.keys & keys)
    if name == "partition" and isinstance(each, In):
        numbers = frozenset(_values(value))
        return replace(
            wanted, partition_set=numbers if wanted.partition_set is None else wanted.partition_set & numbers
        )
    if name == "timestamp":
        span = _span(each, *(_milliseconds(item) for item in _values(value)))
        return wanted if span is None else replace(wanted, times=wanted.times.both(Times(*span)))
    if name in ("partition", "offset"):
        span = _span(each, *((item, item) for item in _values(value)))
        if span is None:
            return wanted
        if name == "offset":
            return replace(wanted, offsets=_both(wanted.offsets, span))
        return replace(wanted, partitions=_both(wanted.partitions, span))
    return wanted


def _values(value: Any) -> tuple[Any, ...]:
    """One value or several; no row equals null."""
    several = value if isinstance(value, tuple | list | set) else (value,)
    return tuple(each for each in several if each is not None)


def _with_topic(wanted: WantedRows, each: Any) -> WantedRows:
    if isinstance(each, StringStartsWith) and each.value.startswith(wanted.topic_start):
        return replace(wanted, topic_start=each.value)
    if isinstance(each, EqualTo | EqualNullSafe | In):
        names = frozenset(_values(each.value))
        return replace(wanted, topics=names if wanted.topics is None else wanted.topics & names)
    return wanted


def _span(each: Any, *values: tuple[int, int]) -> OffsetRange | None:
    """The whole numbers that pass, given each value rounded down and up."""
    downs, ups = [low for low, _ in values], [high for _, high in values]
    if not values:
        return None
    if isinstance(each, EqualTo | EqualNullSafe | In):
        return OffsetRange(min(ups), max(downs) + 1)
    if isinstance(each, GreaterThan):
        return OffsetRange(downs[0] + 1, LATEST)
    if isinstance(each, GreaterThanOrEqual):
        return OffsetRange(ups[0], LATEST)
    if isinstance(each, LessThan):
        return OffsetRange(EARLIEST, ups[0])
    if isinstance(each, LessThanOrEqual):
        return OffsetRange(EARLIEST, downs[0] + 1)
    return None


def _both(one: OffsetRange, other: OffsetRange) -> OffsetRange:
    return OffsetRange(max(one.start, other.start), min(one.end, other.end))


def _milliseconds(moment: datetime) -> tuple[int, int]:
    """A moment in milliseconds since 1970, rounded down and up. Spark's have microseconds, and are in UTC."""
    there = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    microseconds = calendar.timegm(there.utctimetuple()) * 1_000_000 + there.microsecond
    return microseconds // 1000, -(-microseconds // 1000)
