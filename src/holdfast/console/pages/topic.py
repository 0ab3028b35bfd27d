"""Topic: each partition as one bar of its marks, what is undecided over it, and the configs with their source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from holdfast.console.pages.asked import number_in
from holdfast.console.parts import Parts
from holdfast.console.routes import Visit
from holdfast.console.survey import newest_ms
from holdfast.console.visit import Visitor
from holdfast.io.turns import Pace
from holdfast.log.errors import NotOpen
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.api import Key
from holdfast.protocol.generated.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from holdfast.security.rules import Operation, ResourceType

ROWS_MAX: Final = 100
UNDECIDED_MAX: Final = 20  # Of one partition.
_SOURCES = {1: "topic", 2: "this broker, while it ran", 3: "all brokers, while they ran", 4: "settings", 5: "default"}


async def topic(visit: Visit) -> dict[str, Any]:
    parts, name = visit.parts, visit.names["topic"]
    found = parts.topic(name)
    start = number_in(visit.query, "start", 0)
    logs = found.logs[start : start + ROWS_MAX]
    ids = transactional_ids(parts, visit.visitor, [each for each in logs if isinstance(each, PartitionLog)])
    rows = [{"partition": start + number, **bar(parts, log, ids)} async for number, log in _numbered(parts, logs)]
    survey = (await parts.survey.look()).get(name)
    return {
        "name": name,
        "id": str(found.topic_id),
        "all": len(found.logs),
        "start": start,
        "rows": rows,
        "sums": survey.shown() if survey else None,
        "may": {
            "delete": may_change(visit, Operation.DELETE, ResourceType.TOPIC, name),
            "configure": may_change(visit, Operation.ALTER_CONFIGS, ResourceType.TOPIC, name),
            "produce": may_change(visit, Operation.WRITE, ResourceType.TOPIC, name),
        },
    }


def may_change(visit: Visit, operation: Operation, kind: ResourceType, name: str) -> bool:
    """Whether there is a button."""
    return visit.parts.settings.write and visit.visitor.sees(operation, kind, name)


async def _numbered(parts: Parts, logs: Any) -> Any:
    number = 0
    async for log in Pace(parts.clock.monotonic).through(logs):
        yield number, log
        number += 1


def transactional_ids(parts: Parts, visitor: Visitor, logs: Sequence[PartitionLog]) -> dict[int, str]:
    """Whose transaction an open one of these partitions is, as far as the visitor may know."""
    producers = {number for log in logs if log.transactions.open_count for number in log.transactions.open}
    known = parts.transactions.all() if producers else []
    return {
        each.producer_id: each.transactional_id
        for each in known
        if each.producer_id in producers
        and visitor.sees(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, each.transactional_id)
    }


def bar(parts: Parts, log: PartitionLog | NotOpen, ids: dict[int, str]) -> dict[str, Any]:
    """One partition's marks and what lies over them."""
    if isinstance(log, NotOpen):
        return {"failure": str(log)}
    marks = log.marks
    now = parts.clock.monotonic()
    first = log.tail.first
    return {
        "log_start": marks.log_start,
        "flushed": marks.flushed,
        "last_stable": log.last_stable,
        "durable": marks.durable,
        "high_watermark": marks.high_watermark,
        "log_end": marks.log_end,
        "size": parts.survey.size_of(log) + log.tail.size,
        "tail_size": log.tail.size,
        "segments": len(log.manifest.segments),
        **_times(log),
        "unflushed_s": None if first is None else round(now - first.appended_at, 1),
        "is_flushing": log.is_flushing,
        "epoch": log.epochs.current,
        "expires_below": expires_below(log, parts.clock.now_ms()),
        "undecided": [
            {"producer_id": number, "first_offset": offset, "transactional_id": ids.get(number)}
            for number, offset in sorted(log.transactions.open.items(), key=lambda each: each[1])[:UNDECIDED_MAX]
        ],
        "failure": None if log.failure is None else str(log.failure),
        "damaged": log.damaged,
    }


def _times(log: PartitionLog) -> dict[str, int | None]:
    """By the records' own timestamps: oldest, newest that is flushed, newest; and how long they are kept."""
    segments, tail = log.manifest.segments, log.tail.in_memory
    flushed = segments[-1].max_timestamp if segments else -1
    oldest = segments[0].min_timestamp if segments else tail[0].max_timestamp if tail else -1
    kept = log.settings.retention_ms if "delete" in log.settings.cleanup and log.settings.retention_ms >= 0 else None
    return {"oldest_ms": oldest, "flushed_ms": flushed, "newest_ms": newest_ms(log), "retention_ms": kept}


def expires_below(log: PartitionLog, now_ms: int) -> int | None:
    """Retention's edge: segments below this offset are older than they are kept; None: nothing expires by time."""
    settings = log.settings
    if settings.retention_ms < 0 or "delete" not in settings.cleanup:
        return None
    edge = log.marks.log_start
    for segment in log.manifest.segments:
        if segment.max_timestamp >= now_ms - settings.retention_ms:
            break
        edge = segment.end
    return edge


async def configs(visit: Visit) -> dict[str, Any]:
    """Asked of the broker's own handler, as the visitor."""
    name = visit.names["topic"]
    visit.parts.topic(name)
    wanted = DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
    asked = DescribeConfigsRequest(resources=[wanted], include_synonyms=False, include_documentation=True)
    answer = await visit.parts.ask(visit.visitor.session, Key.DESCRIBE_CONFIGS, 4, asked)
    [result] = answer.results
    return {
        "error": result.error_message if result.error_code else None,
        "rows": [
            {
                "name": each.name,
                "value": "…" if each.is_sensitive else each.value,
                "source": _SOURCES.get(each.config_source, "default"),
                "meaning": each.documentation,
            }
            for each in result.configs
        ],
    }
