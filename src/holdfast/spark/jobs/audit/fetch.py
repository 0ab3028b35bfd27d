"""What is in no segment yet, from the broker, where its write-ahead log is not at hand.

A broker flushes, compacts and lets records expire while it is asked. Of offsets that are in segments by then it sends
what is left, and what is left of a compacted segment looks like one with gaps. So the manifest is read before and after
each fetch, and only what was in no segment at either time is taken from the broker. The rest is in segments, which say
themselves whether they were compacted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from holdfast.errors import Rejected
from holdfast.io.objects import Objects
from holdfast.segment.manifest.load import load_manifest
from holdfast.spark.jobs.audit.look import PartitionLook
from holdfast.spark.jobs.audit.segment import Suspect
from holdfast.spark.jobs.audit.sum import AuditedBatch, BrokerMarks, Tails
from holdfast.types import OffsetRange, TopicPartition

FetchTail = Callable[[TopicPartition, int, int], Sequence[AuditedBatch]]  # The batches of the offsets `[start, end)`.


def fetch_tails(
    objects: Objects, looks: Sequence[PartitionLook], marks: Mapping[TopicPartition, BrokerMarks], fetch: FetchTail
) -> Tails:
    """What brokers have above the manifests; not where segments are unlisted: they may know a manifest that is gone."""
    return {
        look.home: _fetched(objects, look, marks[look.where].high_watermark, fetch)
        for look in looks
        if look.manifest is not None and not look.beyond and look.where in marks
        if look.manifest.flushed < marks[look.where].high_watermark
    }


def _fetched(objects: Objects, look: PartitionLook, end: int, fetch: FetchTail) -> Sequence[AuditedBatch]:
    """What is refused is a problem of this partition: its topic may be deleted by now, and the others are there."""
    try:
        return _fetch(objects, look, end, fetch)
    except Rejected as refused:
        look.problems.append(f"what is in no segment yet cannot be fetched: {refused}")
        return ()


def _fetch(objects: Objects, look: PartitionLook, end: int, fetch: FetchTail) -> Sequence[AuditedBatch]:
    """Each turn but the last one finds more offsets in segments, so there is a last one; but what was in segments at
    the first look must stay in some: the broker has it for as long as it runs."""
    first = look.manifest
    assert first is not None
    look.later = load_manifest(objects, look.home)
    while (start := look.later.flushed) < end:
        found: Sequence[AuditedBatch] | Rejected
        try:
            found = fetch(look.where, start, end)
        except Rejected as refused:  # As when they expired meanwhile.
            found = refused
        look.later = load_manifest(objects, look.home)
        if look.later.version < first.version:
            look.problems.append(f"manifest version {first.version} was the newest, and is gone since the audit began")
            return ()
        if look.later.flushed == start:
            if isinstance(found, Rejected):
                raise found
            return found
    return ()


def flushed_since(look: PartitionLook) -> list[Suspect]:
    """The segments, or parts of them, that hold what was flushed after the first look."""
    if look.manifest is None or look.later is None:
        return []
    known, later = look.manifest.flushed, look.later
    return [
        Suspect.of(later, info, OffsetRange(max(info.base, known), info.end))
        for info in later.segments.between(max(known, later.log_start), later.flushed)
    ]
