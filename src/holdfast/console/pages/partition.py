"""Partition: its marks, segments, manifests and producers, and one segment down to its batches."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from holdfast.console.pages.asked import number_in
from holdfast.console.pages.figures import of_times
from holdfast.console.pages.topic import bar, transactional_ids
from holdfast.console.parts import PageNotFound
from holdfast.console.routes import Visit
from holdfast.io.objects import NotFound, Objects
from holdfast.io.versions import Versions
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.layout import Codec
from holdfast.security.rules import Operation, ResourceType
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.load import load_version
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.names import parse_segment_name
from holdfast.segment.scan import open_segment
from holdfast.segment.verify import Finding, inspect
from holdfast.types import PartitionId

SEGMENTS_MAX: Final = 200
PRODUCERS_MAX: Final = 50
VERSIONS_MAX: Final = 10
BATCHES_MAX: Final = 100
_INTERVALS_MAX = 200


async def partition(visit: Visit) -> dict[str, Any]:
    parts, names = visit.parts, visit.names
    log = parts.partition(names["topic"], names["partition"])
    reads = visit.visitor.sees(Operation.READ, ResourceType.TOPIC, names["topic"])  # As Kafka's DescribeProducers asks.
    end = number_in(visit.query, "before", len(log.manifest.segments))
    segments = log.manifest.segments.items[max(end - SEGMENTS_MAX, 0) : end]
    return {
        "name": names["topic"],
        "partition": int(names["partition"]),
        "marks": bar(parts, log, transactional_ids(parts, visit.visitor, [log])),
        "segments": [_tile(log, each) for each in segments],
        "segments_before": max(end - SEGMENTS_MAX, 0),
        "manifest": _manifest(log.manifest),
        "epochs": [{"epoch": each.epoch, "start": each.start} for each in log.epochs.above(-2)[-20:]],
        "producers": _producers(log) if reads else [],
        "producers_all": len(log.producers) if reads else None,
        "reads": {place: of_times(times) for place, times in sorted(parts.logs.stat().reads.items())},
        "own_reads": dict(log.reads_by_place),
    }


def _tile(log: PartitionLog, segment: SegmentInfo) -> dict[str, Any]:
    named, first = parse_segment_name(segment.name), log.ground.kept.first_header(segment)
    return {
        "base": segment.base,
        "end": segment.end,
        "size": segment.size,
        "records": segment.record_count,
        "min_ms": segment.min_timestamp,
        "max_ms": segment.max_timestamp,
        "compacted": segment.compacted,
        "aborted": len(segment.aborted),
        "cached": log.ground.kept.kept.has_tail(segment.name),
        "first_codec": Codec(first.codec).name.lower() if first and first.codec in list(Codec) else None,
        "epoch": None if named is None else named.epoch,
        "object": segment.name,
    }


def _manifest(manifest: Manifest) -> dict[str, Any]:
    return {
        "version": manifest.version,
        "writer": manifest.stamp.writer,
        "incarnation": manifest.stamp.incarnation,
        "epoch": manifest.epoch,
        "flushed": manifest.flushed,
        "log_start": manifest.log_start,
    }


def _producers(log: PartitionLog) -> list[dict[str, Any]]:
    """The last that were heard of."""
    states = log.producers.snapshot()
    last = islice(reversed(states.values()), PRODUCERS_MAX)
    return [
        {
            "producer_id": each.producer_id,
            "epoch": each.epoch,
            "last_sequence": each.batches[-1].last_sequence if each.batches else None,
            "last_offset": each.batches[-1].base_offset if each.batches else None,
            "last_ms": each.last_timestamp,
            "transaction_start": each.transaction_start,
        }
        for each in last
    ]


async def manifests(visit: Visit) -> dict[str, Any]:
    """The last versions, and what each changed; read from the store."""
    parts, names = visit.parts, visit.names
    log = parts.partition(names["topic"], names["partition"])
    rows = await parts.calls.run(_versions, parts.logs.objects, log.home, log.manifest.version)
    return {"rows": rows}


def _versions(objects: Objects, home: PartitionId, newest: int) -> list[dict[str, Any]]:
    versions, rows = Versions(objects, home.manifests), []
    after: Manifest | None = None
    for number in range(newest, max(newest - VERSIONS_MAX, 0) - 1, -1):
        try:
            manifest, _ = load_version(versions, number, None)
        except NotFound:  # Older ones are deleted after a while.
            break
        if after is not None:
            rows.append({**_manifest(after), "changed": _changes(manifest, after)})
        after = manifest
    if after is not None:
        is_first = after.version == 0
        rows.append({**_manifest(after), "changed": ["the first"] if is_first else ["what was before is gone"]})
    return rows


def _changes(before: Manifest, after: Manifest) -> list[str]:
    old, new = {each.name for each in before.segments}, {each.name for each in after.segments}
    told = []
    if new - old:
        told.append(f"{len(new - old)} segments added")
    if old - new:
        told.append(f"{len(old - new)} segments gone")
    if after.log_start > before.log_start:
        told.append(f"log start {before.log_start} → {after.log_start}")
    if after.flushed > before.flushed:
        told.append(f"flushed {before.flushed} → {after.flushed}")
    if after.epoch > before.epoch:
        told.append(f"epoch {before.epoch} → {after.epoch}")
    return told or ["what is known of its producers"]


async def segment(visit: Visit) -> dict[str, Any]:
    """One segment: its index, and its batches from an offset on, each held against its crc now."""
    parts, names = visit.parts, visit.names
    log = parts.partition(names["topic"], names["partition"])
    info = log.manifest.segments.holding(number_in(names, "base", 0))
    if info is None:
        raise PageNotFound(f"no segment holds offset {names['base']}: it is not flushed yet, or gone")
    start = number_in(visit.query, "offset", info.base)
    found = await parts.calls.run(_look_into, parts.logs.objects, log.home, info, start)
    return {"segment": _tile(log, info), "tail_size": info.tail_size, **found}


def _look_into(objects: Objects, home: PartitionId, info: SegmentInfo, start: int) -> dict[str, Any]:
    opened = open_segment(objects, info)
    first = opened.interval_of_offset(start)
    end = opened.offset_of(min(first + 4, len(opened.index)))
    batches: list[dict[str, Any]] = []
    findings: list[str] = []
    for found in inspect(objects, home, info, (opened.offset_of(first), end)):
        if isinstance(found, Finding):
            findings.append(found.what)
            continue
        position = found.position
        for header, batch in found.batches:
            batches.append(
                {
                    "base": header.base_offset,
                    "end": header.end_offset,
                    "records": header.record_count,
                    "size": header.size,
                    "position": position,
                    "codec": Codec(header.codec).name.lower(),
                    "producer_id": header.producer_id,
                    "epoch": header.leader_epoch,
                    "max_ms": header.max_timestamp,
                    "transactional": header.is_transactional,
                    "marker": header.is_control,
                    "crc": f"{header.crc:08x}",
                    "sound": found.is_right,
                    "bytes": bytes(batch[:61]).hex(" "),
                }
            )
            position += header.size
    wanted = [each for each in batches if each["end"] > start][:BATCHES_MAX]
    intervals = opened.intervals(0, min(len(opened.index), _INTERVALS_MAX))
    index = [{"base": opened.offset_of(n), "start": each.start, "end": each.end} for n, each in enumerate(intervals)]
    next_offset = wanted[-1]["end"] if wanted else end
    return {
        "batches": wanted,
        "findings": findings,
        "index": index,
        "index_all": len(opened.index),
        "next_offset": next_offset if next_offset < info.end else None,
    }
