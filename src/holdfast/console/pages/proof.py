"""Proof: what is known to be wrong, and one partition held against every rule now, a part at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from holdfast.cluster.reports import Report, last_reports
from holdfast.console.pages.asked import number_in
from holdfast.console.routes import Visit
from holdfast.errors import Corrupt
from holdfast.io.objects import NotFound, Objects
from holdfast.log.partition.partition import PartitionLog
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.verify import Finding, inspect
from holdfast.types import PartitionId

SIZE_MAX: Final = 64 << 20  # Bytes looked at for one answer.
SECONDS_MAX: Final = 2.0
FACTS_MAX: Final = 200
_FAILED_MAX = 100


async def proof(visit: Visit) -> dict[str, Any]:
    parts = visit.parts
    stat = parts.logs.stat()
    rows = (await parts.survey.look()).values()
    failed = [
        {"topic": topic.name, "partition": number, "why": str(log if isinstance(log, Exception) else log.failure)}
        for topic in (parts.find_topic(row.name) for row in rows if row.failed)
        if topic is not None
        for number, log in enumerate(topic.logs)
        if isinstance(log, Corrupt) or (isinstance(log, PartitionLog) and not log.is_alive)
    ]
    damaged = [row for row in rows if row.damaged]
    return {
        "failed": failed[:_FAILED_MAX],
        "damaged": [{"topic": each.name, "objects": each.damaged} for each in damaged],
        "damage_met": stat.damage.met,
        "mended": stat.damage.mended,
        "unreadable": dict(stat.unreadable.by),
        "clock_apart_ms": stat.clock_apart_ms,
        "is_owner": parts.logs.owner.is_owner,
        "owner_looks": parts.logs.owner.looks,
        "owner_failures": parts.logs.owner.failures,
    }


async def reports(visit: Visit) -> dict[str, Any]:
    """What audits, backups and repairs have left in the store."""
    parts = visit.parts
    rows = await parts.calls.run(lambda: list(last_reports(parts.logs.objects)))
    return {"rows": [each._asdict() | {"facts": facts_seen(each, visit.visitor.sees_topic)} for each in rows]}


def facts_seen(report: Report, sees: Callable[[str], bool]) -> dict[str, Any]:
    """Those of an audit are of partitions: not of topics that the visitor may not describe."""
    seen = (
        (name, fact) for name, fact in report.facts.items() if report.kind != "audit" or sees(name.rpartition("-")[0])
    )
    return dict(islice(seen, FACTS_MAX))


async def verify(visit: Visit) -> dict[str, Any]:
    """Segments from the one that holds an offset on: every byte read from the store, and held against its crcs."""
    parts, names = visit.parts, visit.names
    log = parts.partition(names["topic"], names["partition"])
    start = number_in(visit.query, "from", log.marks.log_start)
    segments = log.manifest.segments.between(start, log.marks.flushed)
    now, began = parts.clock.monotonic, parts.clock.monotonic()
    size = records = count = 0
    findings: list[dict[str, Any]] = []
    end = start
    for info in segments:
        if count and (size + info.size > SIZE_MAX or now() - began > SECONDS_MAX):
            break
        found = await parts.calls.run(_check, parts.logs.objects, log.home, info)
        records, size, count, end = records + found[0], size + info.size, count + 1, info.end
        findings += found[1]
    all_size = sum(each.size for each in log.manifest.segments)
    return {
        "segments": count,
        "records": records,
        "size": size,
        "all_size": all_size,
        "all_segments": len(log.manifest.segments),
        "findings": findings[:100],
        "from": start,
        "end": end,
        "flushed": log.marks.flushed,
        "next": end if end < log.marks.flushed and count else None,
        "seconds": round(now() - began, 3),
    }


def _check(objects: Objects, home: PartitionId, info: SegmentInfo) -> tuple[int, list[dict[str, Any]]]:
    records, findings = 0, []
    try:
        for found in inspect(objects, home, info):
            if isinstance(found, Finding):
                findings.append({"object": found.name, "what": found.what, "at": found.position, "from": found.start})
            else:
                records += sum(header.record_count for header, _ in found.batches)
    except NotFound:
        findings.append({"object": info.name, "what": "it is not in the store", "at": None, "from": info.base})
    return records, findings
