"""Where a read starts or ends, as people write it: words, offsets, times, and so many back from the end."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeAlias

from holdfast.errors import Rejected
from holdfast.types import TopicPartition

LATEST_NUMBER: Final = -1  # What stands for the words in JSON.
EARLIEST_NUMBER: Final = -2

_UNITS_MS: Final = {
    "ms": 1,
    "millisecond": 1,
    "s": 1000,
    "second": 1000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_AGO = re.compile(r"-\s*(\d+)\s*([a-z]+)", re.IGNORECASE)


class BadSourceOption(Rejected):
    """An option has a value that it cannot have."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(f"{name} is {value!r}, but it must be {expected}")
        self.name = name
        self.value = value
        self.expected = expected


class Earliest(NamedTuple):
    """The first offset there is."""


class Latest(NamedTuple):
    """The end."""


class Last(NamedTuple):
    """So many offsets before the end of each partition."""

    offset_count: int


class At(NamedTuple):
    """An offset for each partition; -1 and -2 stand for latest and earliest."""

    offsets: Mapping[TopicPartition, int]


class Since(NamedTuple):
    """The first record of a time or later: one time for all partitions, or one for each."""

    time_ms: int | None = None
    times_ms: Mapping[TopicPartition, int] | None = None
    lenient: bool = False  # Where no record is so late: the end, instead of an error.


class Ago(NamedTuple):
    """The first record of the last so many milliseconds; where there is none, the end."""

    milliseconds: int


Bound: TypeAlias = Earliest | Latest | Last | At | Since | Ago


def parse_offsets(name: str, text: str) -> Bound:
    """`earliest`, `latest`, `-1000`, or JSON such as `{"topic":{"0":23}}`."""
    word = text.strip()
    if word.lower() == "earliest":
        return Earliest()
    if word.lower() == "latest":
        return Latest()
    if re.fullmatch(r"-\d+", word):
        return Last(int(word[1:]))
    return At(_by_partition(name, word, "earliest, latest, a number back from the end such as -1000"))


def parse_time(name: str, text: str, *, lenient: bool) -> Bound:
    """Milliseconds since 1970, a moment such as `2026-01-31T12:00:00Z`, or back from now such as `-10 minutes`."""
    word = text.strip()
    if re.fullmatch(r"\d+", word):
        return Since(int(word), lenient=lenient)
    ago = _AGO.fullmatch(word)
    if ago:
        word = ago[2].lower()
        unit = _UNITS_MS.get(word) or _UNITS_MS.get(word.removesuffix("s"))
        if unit is not None:
            return Ago(int(ago[1]) * unit)
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        expected = "milliseconds since 1970, a moment as in ISO 8601, or back from now such as -10 minutes"
        raise BadSourceOption(name, text, expected) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Since(round(moment.timestamp() * 1000), lenient=lenient)


def parse_times(name: str, text: str, *, lenient: bool) -> Bound:
    """JSON such as `{"topic":{"0":1700000000000}}`."""
    return Since(None, _by_partition(name, text, "milliseconds since 1970 for each partition"), lenient)


def parse_assign(name: str, text: str) -> frozenset[TopicPartition]:
    """JSON such as `{"topic":[0,1]}`."""
    expected = 'JSON such as {"topic":[0,1]}'
    document = _object(name, text, expected)
    if not all(isinstance(each, list) and all(type(n) is int for n in each) for each in document.values()):
        raise BadSourceOption(name, text, expected)
    return frozenset(TopicPartition(topic, number) for topic, numbers in document.items() for number in numbers)


def _by_partition(name: str, text: str, other: str) -> dict[TopicPartition, int]:
    expected = f'{other}, as JSON such as {{"topic":{{"0":23}}}}'
    document = _object(name, text, expected)
    found = {}
    for topic, numbers in document.items():
        if not isinstance(numbers, dict):
            raise BadSourceOption(name, text, expected)
        for partition, number in numbers.items():
            if not partition.isdecimal() or type(number) is not int or number < EARLIEST_NUMBER:
                raise BadSourceOption(name, text, expected)
            found[TopicPartition(topic, int(partition))] = number
    return found


def _object(name: str, text: str, expected: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise BadSourceOption(name, text, expected)
    return document
