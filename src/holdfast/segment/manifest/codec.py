"""A manifest version as bytes: a full list, or the steps since the last full list. See docs/formats/manifest.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from holdfast.errors import HoldfastError
from holdfast.io.envelope import seal, unseal
from holdfast.io.versions import Stamp, full_before
from holdfast.segment.errors import Damaged
from holdfast.segment.manifest.changes import take_step
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.manifest import AppendedSegment, Cleaned, EpochStart, Manifest
from holdfast.segment.manifest.segments import SegmentList
from holdfast.segment.producers import Producers, changes, from_rows, to_rows, with_changes
from holdfast.types import Offset, PartitionId

KIND = "manifest"
FORMAT = 2
CHANGED_MIN = 512  # Below half of this nobody counts how many producers have changed.


class Full(NamedTuple):
    """Lists that may be long: a version says all of them, and those behind it only what has changed since."""

    segments: SegmentList = SegmentList()
    producers: Producers = MappingProxyType({})
    producers_version: int = 0  # Which version says all producers: the one that says all segments, or a later one.

    def after(self, made: Manifest) -> Full:
        """What the next version counts its changes from."""
        if full_before(made.version) == made.version:
            return Full(made.segments, made.producers, made.version)
        changed, gone = changes(self.producers, made.producers)
        if 2 * (len(changed) + len(gone)) <= max(len(made.producers), CHANGED_MIN):
            return self
        return Full(self.segments, made.producers, made.version)  # So many would be in each version up to the next.


class Steps(NamedTuple):
    """What leads from a full version to another: nothing, if that is the full version itself."""

    full: Full
    steps: tuple[list[Any], ...] = ()

    def segments(self, folder: str) -> SegmentList:
        segments = self.full.segments
        for step in self.steps:
            segments = take_step(segments, step, folder)
        return segments


def encode(manifest: Manifest, steps: Sequence[list[Any]], full: Full | None = None) -> bytes:
    """One version. `steps` are all since the last full one, `full` is `Full.after` it; a full one needs neither."""
    body = {
        "version": manifest.version,
        "epoch": manifest.stamp.epoch,
        "writer": manifest.stamp.writer,
        "nonce": manifest.stamp.nonce,
        "incarnation": manifest.stamp.incarnation,
        "cluster": manifest.cluster_id,
        "topic": manifest.home.topic_id.hex,
        "partition": manifest.home.partition,
        "epochs": manifest.epochs,
        "log_start": manifest.log_start,
        "flushed": manifest.flushed,
        "last_stable": manifest.last_stable,
        "forgotten_below": manifest.forgotten_below,
        "running_ms": manifest.running_ms,
        "cleaned": manifest.cleaned,
        "appended": manifest.appended,
    }
    if full_before(manifest.version) == manifest.version:
        body["segments"] = [each.to_row() for each in manifest.segments]
    else:
        body["steps"] = steps
    if full is None or full.producers_version == manifest.version:
        body["producers"] = to_rows(manifest.producers)
    else:
        body["producers_since"] = full.producers_version
        body["producers_changed"], body["producers_gone"] = changes(full.producers, manifest.producers)
    return seal(KIND, FORMAT, body)


def stamp_of(name: str, data: bytes) -> Stamp:
    """Who wrote a version."""
    return _stamp(unseal(name, KIND, FORMAT, data))


def _stamp(body: dict[str, Any]) -> Stamp:
    return Stamp(body["epoch"], body["writer"], body["nonce"], body.get("incarnation", ""))


def decode(
    name: str, data: bytes, full: Full | None, producers_of: Callable[[int], Producers] | None = None
) -> tuple[Manifest, Steps]:
    """A version, given the full one before it; a version that is one needs none.

    `producers_of` gets all producers of a version in between, where that said them all.
    """
    body = unseal(name, KIND, FORMAT, data)
    since = body.get("producers_since")
    if full is not None and producers_of is not None and since not in (None, full.producers_version):
        full = full._replace(producers=producers_of(since), producers_version=since)
    try:
        return _decode(body, full)
    except (HoldfastError, KeyError, TypeError, ValueError) as failure:
        raise Damaged(name, f"its content contradicts itself: {failure!r}") from failure


def _decode(body: dict[str, Any], full: Full | None) -> tuple[Manifest, Steps]:
    home = PartitionId(UUID(hex=body["topic"]), body["partition"])
    if full_before(body["version"]) == body["version"]:
        segments = SegmentList(_rows(body["segments"], home.segments))
        steps = Steps(Full(segments, from_rows(body["producers"]), body["version"]))
    elif full is None:
        raise ValueError("its full list is missing")
    else:
        steps = Steps(_with_producers(body, full), tuple(body["steps"]))
    manifest = Manifest(
        home=home,
        cluster_id=body["cluster"],
        version=body["version"],
        stamp=_stamp(body),
        epochs=tuple(EpochStart(*each) for each in body["epochs"]),
        log_start=Offset(body["log_start"]),
        flushed=Offset(body["flushed"]),
        last_stable=Offset(body["last_stable"]),
        segments=steps.segments(home.segments),
        producers=_producers(body, steps.full),
        forgotten_below=body.get("forgotten_below"),
        running_ms=body.get("running_ms", 0),
        cleaned=tuple(Cleaned(*each) for each in body["cleaned"]),
        appended=AppendedSegment(*body.get("appended", ())),
    )
    return manifest, steps


def producers_of(name: str, data: bytes) -> Producers:
    """All producers of a version that says them all."""
    body = unseal(name, KIND, FORMAT, data)
    try:
        return from_rows(body["producers"])
    except (KeyError, TypeError, ValueError) as failure:
        raise Damaged(name, f"it does not say all producers: {failure!r}") from failure


def _with_producers(body: dict[str, Any], full: Full) -> Full:
    """In format 1 every version said all producers."""
    if "producers" not in body:
        return full
    return full._replace(producers=from_rows(body["producers"]), producers_version=body["version"])


def _producers(body: dict[str, Any], full: Full) -> Producers:
    if "producers" in body:
        return full.producers
    if body["producers_since"] != full.producers_version:
        raise ValueError(f"the producers of version {body['producers_since']} are missing")
    return with_changes(full.producers, body["producers_changed"], body["producers_gone"])


def _rows(rows: Iterable[list[Any]], folder: str) -> Iterable[SegmentInfo]:
    return (SegmentInfo.from_row(row, folder) for row in rows)
