"""What is told of partitions, segments, tails and batches, as JSON knows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from holdfast.record.batch import BatchHeader
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import PartitionId

Facts = dict[str, Any]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass
class TailSums:
    """A tail, summed up."""

    base: int
    end: int
    batches: int = 0
    records: int = 0
    size: int = 0
    min_timestamp: int | None = None
    max_timestamp: int | None = None
    epochs: list[tuple[int, int]] = field(default_factory=list)  # Those that begin in the tail: number and offset.


def sum_up(headers: Iterable[BatchHeader], manifest: Manifest) -> TailSums:
    """The batches above what the manifest holds."""
    sums = TailSums(manifest.flushed, manifest.flushed)
    epoch: int = manifest.epoch
    for header in headers:
        sums.end = header.end_offset
        sums.batches += 1
        sums.records += header.record_count
        sums.size += header.size
        if sums.min_timestamp is None or header.base_timestamp < sums.min_timestamp:
            sums.min_timestamp = header.base_timestamp
        if sums.max_timestamp is None or header.max_timestamp > sums.max_timestamp:
            sums.max_timestamp = header.max_timestamp
        if header.leader_epoch > epoch:
            epoch = header.leader_epoch
            sums.epochs.append((epoch, header.base_offset))
    return sums


def home_facts(home: PartitionId, name: str | None) -> Facts:
    """Which partition it is. A topic has a name where a broker runs."""
    return {"topic": name, "topic_id": str(home.topic_id), "partition": home.partition}


def partition_facts(manifest: Manifest, tail: TailSums | None) -> Facts:
    """One partition. Without a write-ahead log nothing is known of its tail."""
    segments = [each for each in manifest.segments if each.record_count]
    low = [each.min_timestamp for each in segments]
    high = [each.max_timestamp for each in segments]
    epochs: list[tuple[int, int]] = list(manifest.epochs)
    if tail is not None and tail.min_timestamp is not None and tail.max_timestamp is not None:
        low, high, epochs = [*low, tail.min_timestamp], [*high, tail.max_timestamp], [*epochs, *tail.epochs]
    return {
        "log_start": manifest.log_start,
        "flushed": manifest.flushed,
        "log_end": tail and tail.end,
        "segments": len(manifest.segments),
        "bytes": sum(each.size for each in manifest.segments),
        "records": sum(each.record_count for each in manifest.segments),
        "tail_batches": tail and tail.batches,
        "tail_bytes": tail and tail.size,
        "tail_records": tail and tail.records,
        "epochs": [{"epoch": epoch, "start": start} for epoch, start in epochs],
        "first_timestamp": min(low, default=None),
        "last_timestamp": max(high, default=None),
        "manifest_version": manifest.version,
    }


def segment_facts(info: SegmentInfo) -> Facts:
    return {
        "kind": "segment",
        "base": info.base,
        "end": info.end,
        "size": info.size,
        "records": info.record_count,
        "first_timestamp": info.min_timestamp,
        "last_timestamp": info.max_timestamp,
        "compacted": info.compacted,
        "aborted_transactions": len(info.aborted),
        "name": info.name,
    }


def tail_facts(sums: TailSums) -> Facts:
    return {
        "kind": "tail",
        "base": sums.base,
        "end": sums.end,
        "size": sums.size,
        "records": sums.records,
        "batches": sums.batches,
        "first_timestamp": sums.min_timestamp,
        "last_timestamp": sums.max_timestamp,
    }


def batch_facts(header: BatchHeader, *, crc_ok: bool, **where: int) -> Facts:
    """One batch; `where` is its position in a segment, or the entry of the write-ahead log that holds it."""
    return {
        "kind": "batch",
        "base": header.base_offset,
        "end": header.end_offset,
        **where,
        "size": header.size,
        "records": header.record_count,
        "codec": CODECS[header.codec] if header.codec < len(CODECS) else str(header.codec),
        "crc_ok": crc_ok,
        "first_timestamp": header.base_timestamp,
        "last_timestamp": header.max_timestamp,
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
    }
