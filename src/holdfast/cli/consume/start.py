"""Where to begin reading: what a person may write, and which offsets that is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from holdfast.client import EARLIEST, LATEST, Client
from holdfast.errors import Rejected
from holdfast.units import TIMES_MS

_AGO = re.compile(r"(\d+)(ms|s|m|h|d)")


class Kind(Enum):
    """What a start counts."""

    TIME = 1  # Milliseconds since 1970, or LATEST or EARLIEST.
    OFFSET = 2
    BEFORE_END = 3  # Records.


class ConsumeStart(NamedTuple):
    """Where to begin."""

    kind: Kind
    value: int


def parse_start(text: str, now_ms: int, option: str = "--from") -> ConsumeStart:
    """`earliest`, `latest`, an offset, `-N`, a time, or how long ago."""
    if text == "earliest":
        return ConsumeStart(Kind.TIME, EARLIEST)
    if text == "latest":
        return ConsumeStart(Kind.TIME, LATEST)
    if text.isascii() and text.isdecimal():
        return ConsumeStart(Kind.OFFSET, int(text))
    if text.isascii() and text.startswith("-") and text[1:].isdecimal():
        return ConsumeStart(Kind.BEFORE_END, int(text[1:]))
    ago = _AGO.fullmatch(text)
    if ago:
        return ConsumeStart(Kind.TIME, max(now_ms - int(ago[1]) * TIMES_MS[ago[2]], 0))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Rejected(
            f"{option} {text} is none of: earliest, latest, an offset, -N, a time such as 2026-01-31T12:00, 90s, 2h, 7d"
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)  # As times are printed.
    return ConsumeStart(Kind.TIME, max(int(moment.timestamp() * 1000), 0))


def find_start(
    client: Client, topic: str, partitions: Sequence[int], start: ConsumeStart, *, committed: bool
) -> dict[int, int]:
    """The offset to begin at, for each partition."""
    ends = find_offsets(client, topic, partitions, LATEST, committed=committed)
    if start.kind is Kind.TIME:
        found = find_offsets(client, topic, partitions, start.value, committed=committed)
        return {number: ends[number] if found[number] < 0 else found[number] for number in partitions}
    starts = find_offsets(client, topic, partitions, EARLIEST)
    chosen = {}
    for number in partitions:
        first, end = starts[number], ends[number]
        if start.kind is Kind.BEFORE_END:
            chosen[number] = max(end - start.value, first)
        elif first <= start.value <= end:
            chosen[number] = start.value
        else:
            raise Rejected(
                f"{topic}-{number} has the offsets {first} to {end}, and {start.value} is not among them: "
                "choose another one, or other partitions with --partition"
            )
    return chosen


def find_end(
    client: Client, topic: str, partitions: Sequence[int], until: ConsumeStart, *, committed: bool
) -> dict[int, int]:
    """The offset to stop before, for each partition: never behind its end of now."""
    ends = find_offsets(client, topic, partitions, LATEST, committed=committed)
    if until.kind is Kind.OFFSET:
        return {number: min(until.value, ends[number]) for number in partitions}
    return find_start(client, topic, partitions, until, committed=committed)


def find_offsets(
    client: Client, topic: str, partitions: Sequence[int], timestamp: int, *, committed: bool = False
) -> dict[int, int]:
    """The earliest or latest offset of each partition, or the first at or after a time; -1 if there is none."""
    found = client.list_offsets({(topic, number): timestamp for number in partitions}, committed=committed)
    return {where.partition: each.offset for where, each in found.items()}
