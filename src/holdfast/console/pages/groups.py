"""Groups: the list; and one group with its members and its lag, in records and in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from holdfast.console.pages.asked import number_in
from holdfast.console.pages.topic import may_change
from holdfast.console.parts import PageNotFound, Parts
from holdfast.console.readers import lag_of
from holdfast.console.routes import Visit
from holdfast.coordinator.group.answers import CommittedOffset, GroupListing, GroupType
from holdfast.coordinator.group.errors import GroupNotFound
from holdfast.coordinator.runtime.fields import MalformedField, Reader
from holdfast.io.turns import Pace
from holdfast.security.rules import Operation, ResourceType
from holdfast.types import TopicPartition

ROWS_MAX: Final = 100
PARTITIONS_MAX: Final = 200
_ASSIGNED_MAX = 100  # Of one member.
_NAME_MAX = 200  # Characters that clients have chosen.


async def groups(visit: Visit) -> dict[str, Any]:
    parts, wanted = visit.parts, visit.query.get("filter", "").lower()
    everything = [*parts.groups.list_groups(), *(each.rules.listing() for each in parts.shares)]
    now = parts.clock.monotonic
    listed = [each async for each in Pace(now).through(everything) if visit.visitor.sees_group(each.group_id)]
    found = sorted((each for each in listed if wanted in each.group_id.lower()), key=lambda each: each.group_id)
    start = number_in(visit.query, "start", 0)
    rows = [await _row(visit, each) async for each in Pace(now).through(found[start : start + ROWS_MAX])]
    return {"found": len(found), "all": len(listed), "start": start, "rows": rows}


async def _row(visit: Visit, listing: GroupListing) -> dict[str, Any]:
    parts = visit.parts
    is_share = listing.type is GroupType.SHARE  # Their progress is record by record: there is no offset to compare.
    committed = {} if is_share else await parts.groups.offsets.fetch(listing.group_id)
    lags = [lag for partition, each in committed.items() if (lag := lag_of(parts.log_of(partition), each)) is not None]
    return {
        "group": listing.group_id,
        "type": listing.type.value,
        "state": listing.state.value,
        "members": listing.member_count,
        "partitions": len(committed),
        "lag": sum(lags) if lags else None,
        "topics": sorted({each.topic for each in committed if visit.visitor.sees_topic(each.topic)})[:20],
    }


async def group(visit: Visit) -> dict[str, Any]:
    parts, name = visit.parts, visit.names["group"]
    listing = next((each for each in parts.groups.list_groups() if each.group_id == name), None)
    if listing is None:
        raise PageNotFound(f"there is no group {name}")
    stable = await parts.groups.offsets.fetch(name, require_stable=True)
    committed = await parts.groups.offsets.fetch(name)
    seen = sorted(each for each in committed if visit.visitor.sees_topic(each.topic))
    rows = [await _partition(parts, each, committed[each], stable.get(each)) for each in seen[:PARTITIONS_MAX]]
    lags = [row["lag"] for row in rows if row["lag"] is not None]
    looked = f"{visit.visitor.name}\n{name}"  # Others may see other topics of it.
    return {
        "group": name,
        "type": listing.type.value,
        "state": listing.state.value,
        **await _described(visit, listing),
        "moves": await _moves(parts, name),
        "rows": rows,
        "all": len(seen),
        "may": {"delete": may_change(visit, Operation.DELETE, ResourceType.GROUP, name)},
        "lag": sum(lags) if lags else None,
        "lag_s": max((row["lag_s"] for row in rows if row["lag_s"] is not None), default=None),
        **parts.lags.speed(looked, rows, parts.clock.monotonic()),
        "history": parts.lags.last_hour(name, {each.topic for each in seen}, sum(lags), parts.clock.now_ms()),
    }


async def _moves(parts: Parts, name: str) -> list[dict[str, Any]]:
    """Why it has moved on, the newest first."""
    now, now_ms = int(parts.clock.monotonic() * 1000), parts.clock.now_ms()
    return [{"at_ms": now_ms - (now - each.at), "why": each.why} for each in reversed(await parts.groups.moves(name))]


async def _partition(parts: Parts, partition: TopicPartition, committed: object, stable: object) -> dict[str, Any]:
    row: dict[str, Any] = {"topic": partition.topic, "partition": partition.partition, "lag": None, "lag_s": None}
    if not isinstance(committed, CommittedOffset):
        return row | {"committed": None}
    row |= {
        "committed": committed.offset,
        "committed_ms": committed.committed_at_ms,
        "metadata": committed.metadata[:200],
        "is_stable": isinstance(stable, CommittedOffset),
    }
    log = parts.log_of(partition)
    if log is None:
        return row | {"end": None}
    lag = max(log.marks.high_watermark - committed.offset, 0)
    next_ms = await parts.lags.next_ms(log, committed.offset) if lag else None
    lag_s = None if next_ms is None or next_ms < 0 else max(parts.clock.now_ms() - next_ms, 0) / 1000
    expired = committed.offset < log.marks.log_start
    end = {"end": log.marks.high_watermark, "stable_end": log.last_stable, "expired": expired}
    return row | end | {"lag": lag, "lag_s": 0.0 if not lag else lag_s, "next_ms": next_ms}


async def _described(visit: Visit, listing: GroupListing) -> dict[str, Any]:
    parts, name = visit.parts, listing.group_id
    try:
        if listing.type is GroupType.CONSUMER:
            found = await parts.groups.describe_consumer(name)
            topics = {each.topic_id: each.name for each in parts.topics()}
            members = [
                {
                    "member": each.member.id[:_NAME_MAX],
                    "client": each.member.client_id[:_NAME_MAX],
                    "host": each.member.client_host,
                    "assigned": _assigned(visit, ((topics.get(p.topic_id), p.partition) for p in each.member.assigned)),
                }
                for each in found.members[:ROWS_MAX]
            ]
            return {"epoch": found.epoch, "protocol": found.assignor, "members": members}
        classic = await parts.groups.describe(name)
    except GroupNotFound:
        raise PageNotFound(f"there is no group {name}") from None
    shown = [
        {
            "member": each.member_id[:_NAME_MAX],
            "client": each.client_id[:_NAME_MAX],
            "host": each.client_host,
            "assigned": _assigned(
                visit, ((topic, each) for topic, some in assigned_in(each.assignment).items() for each in some)
            ),
        }
        for each in classic.members[:ROWS_MAX]
    ]
    return {"epoch": classic.generation, "protocol": classic.protocol_name, "members": shown}


def _assigned(visit: Visit, partitions: Iterable[tuple[str | None, int]]) -> list[str]:
    """The first of what a member was given, of topics that may be described."""
    seen = (each for each in partitions if each[0] is not None and visit.visitor.sees_topic(each[0]))
    return [f"{topic}-{number}" for topic, number in islice(sorted(seen), _ASSIGNED_MAX)]


def assigned_in(assignment: bytes) -> Mapping[str, list[int]]:
    """What a classic member was given, as the consumers' own protocol writes it; nothing where it is another's."""
    reader = Reader(assignment)
    try:
        reader.i16()
        return {reader.string(): [reader.i32() for _ in range(reader.count())] for _ in range(reader.count())}
    except (MalformedField, UnicodeDecodeError):
        return {}
