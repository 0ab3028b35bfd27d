"""A manifest version as bytes: a full list, or the steps since the last full list. See docs/formats/manifest.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.errors import HoldfastError
from holdfast.io.envelope import seal, unseal
from holdfast.io.versions import Stamp, full_before
from holdfast.segment.changes import take_step
from holdfast.segment.errors import Damaged
from holdfast.segment.info import SegmentInfo
from holdfast.segment.manifest import Cleaned, EpochStart, Manifest
from holdfast.segment.names import PartitionId
from holdfast.segment.producers import from_rows, to_rows
from holdfast.segment.segment_list import SegmentList
from holdfast.types import Offset

KIND = "manifest"
FORMAT = 1


class Steps(NamedTuple):
    """What leads from a full list to a version: nothing, if that version is the full list itself."""

    full: SegmentList
    steps: tuple[list[Any], ...] = ()

    def segments(self, folder: str) -> SegmentList:
        segments = self.full
        for step in self.steps:
            segments = take_step(segments, step, folder)
        return segments


def encode(manifest: Manifest, steps: Sequence[list[Any]]) -> bytes:
    """One version. `steps` are all since the last full list; a full list needs none."""
    body = {
        "version": manifest.version,
        "epoch": manifest.stamp.epoch,
        "writer": manifest.stamp.writer,
        "nonce": manifest.stamp.nonce,
        "cluster": manifest.cluster_id,
        "topic": manifest.home.topic_id.hex,
        "partition": manifest.home.partition,
        "epochs": manifest.epochs,
        "log_start": manifest.log_start,
        "flushed": manifest.flushed,
        "last_stable": manifest.last_stable,
        "producers": to_rows(manifest.producers),
        "cleaned": manifest.cleaned,
    }
    if full_before(manifest.version) == manifest.version:
        body["segments"] = [each.to_row() for each in manifest.segments]
    else:
        body["steps"] = steps
    return seal(KIND, FORMAT, body)


def stamp_of(name: str, data: bytes) -> Stamp:
    """Who wrote a version."""
    body = unseal(name, KIND, FORMAT, data)
    return Stamp(body["epoch"], body["writer"], body["nonce"])


def decode(name: str, data: bytes, full: SegmentList | None) -> tuple[Manifest, Steps]:
    """A version, given the full list before it; a version that is one needs none."""
    body = unseal(name, KIND, FORMAT, data)
    try:
        return _decode(body, full)
    except (HoldfastError, KeyError, TypeError, ValueError) as failure:
        raise Damaged(name, f"its content contradicts itself: {failure!r}") from failure


def _decode(body: dict[str, Any], full: SegmentList | None) -> tuple[Manifest, Steps]:
    home = PartitionId(UUID(hex=body["topic"]), body["partition"])
    if full_before(body["version"]) == body["version"]:
        steps = Steps(SegmentList(_rows(body["segments"], home.segments)))
    elif full is None:
        raise ValueError("its full list is missing")
    else:
        steps = Steps(full, tuple(body["steps"]))
    manifest = Manifest(
        home=home,
        cluster_id=body["cluster"],
        version=body["version"],
        stamp=Stamp(body["epoch"], body["writer"], body["nonce"]),
        epochs=tuple(EpochStart(*each) for each in body["epochs"]),
        log_start=Offset(body["log_start"]),
        flushed=Offset(body["flushed"]),
        last_stable=Offset(body["last_stable"]),
        segments=steps.segments(home.segments),
        producers=from_rows(body["producers"]),
        cleaned=tuple(Cleaned(*each) for each in body["cleaned"]),
    )
    return manifest, steps


def _rows(rows: Iterable[list[Any]], folder: str) -> Iterable[SegmentInfo]:
    return (SegmentInfo.from_row(row, folder) for row in rows)
