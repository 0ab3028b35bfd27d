"""What the driver sees of a partition before any segment is read: its manifest, its versions, and stray segments.

Names are listed before the manifest is loaded: what is listed and still not in the manifest was put before that, and
either is being committed at this moment, or was left over, or the manifest that listed it is gone. What can be of this
moment only is looked at again when everything else is done.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event

from holdfast.catalog.catalog import THREADS
from holdfast.errors import Corrupt
from holdfast.io.clock import Clock
from holdfast.io.objects import Objects
from holdfast.io.versions import Versions, full_before
from holdfast.segment.manifest.load import load_newest
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.names import parse_segment_name
from holdfast.types import OffsetRange, PartitionId, TopicPartition

MAKING_S = 3.0  # Between a topic's metadata and its partitions' manifests a broker makes a few requests.
_POLL_S = 0.2

NO_MANIFEST = "it has no manifest in the store: the whole partition is gone, or its broker stopped while it made it"
DELETED = "its topic was deleted while the audit ran: nothing of it could be accounted for"


@dataclass
class PartitionLook:
    """One partition, as the store shows it."""

    where: TopicPartition
    home: PartitionId
    manifest: Manifest | None = None
    later: Manifest | None = None  # One whose segments above the first's end were looked at, too.
    problems: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)  # Unlisted segments with offsets at or above `flushed`.
    leftovers: int = 0  # Unlisted segments below.
    is_new: bool = False  # Its manifest came while we looked.


def look_at(
    objects: Objects, partitions: Iterable[tuple[TopicPartition, PartitionId]], cluster: str
) -> list[PartitionLook]:
    """All partitions, many at a time."""
    with ThreadPoolExecutor(THREADS, thread_name_prefix="holdfast-audit") as pool:
        return list(pool.map(lambda each: _look(objects, each[0], each[1], cluster), partitions))


def _look(objects: Objects, where: TopicPartition, home: PartitionId, cluster: str) -> PartitionLook:
    look = PartitionLook(where, home)
    stored = [each.name for each in objects.list(home.segments)]
    versions = Versions(objects, home.manifests)
    named = [each.name for each in objects.list(home.manifests)]
    hinted = versions.hint()  # Before the manifest: it speaks of a version that was there already.
    try:
        loaded = load_newest(versions)
    except Corrupt as damage:
        look.problems.append(f"the manifest cannot be read: {damage}")
        return look
    if loaded is None:
        look.leftovers = len(stored)
        if stored or named:  # A new partition has nothing: its manifest comes before segments, and before a hint.
            look.problems.append(NO_MANIFEST)
        return look
    look.manifest = loaded[0]
    if versions.name(loaded[0].version) not in named:  # It came in between, and it may not be the only one.
        named += [each.name for each in objects.list(home.manifests)]
    look.problems += _version_problems(versions, named, loaded[0], cluster)
    if hinted > loaded[0].version:
        look.problems.append(
            f"manifest version {hinted} was once the newest; now it is {loaded[0].version}: the newest ones are gone"
        )
    _sort_out(look, stored, loaded[0])
    return look


def _version_problems(versions: Versions, named: list[str], manifest: Manifest, cluster: str) -> Iterable[str]:
    if manifest.cluster_id != cluster:
        yield f"its manifest belongs to cluster {manifest.cluster_id}, the store to cluster {cluster}"
    there = {number for each in named if (number := versions.number(each)) is not None}
    oldest = min(there, default=manifest.version)
    for number in range(max(oldest, full_before(manifest.version)), manifest.version):
        if number not in there:
            yield f"manifest version {number} is missing, though newer ones are there: {versions.name(number)}"


def _sort_out(look: PartitionLook, stored: list[str], manifest: Manifest) -> None:
    listed = {each.name for each in manifest.segments}
    for name in stored:
        if name not in listed:
            if offsets_in(name).end > manifest.flushed:
                look.beyond.append(name)
            else:
                look.leftovers += 1


def offsets_in(name: str) -> OffsetRange:
    """Which offsets a segment's name promises; none for a name that is not a segment's."""
    found = parse_segment_name(name)
    return OffsetRange(0, 0) if found is None else found.offsets


def look_again(objects: Objects, looks: Iterable[PartitionLook], clock: Clock) -> None:
    """Let go of what was only being committed when we looked, and wait a little for manifests that are being made."""
    absent = []
    for look in looks:
        if look.beyond and look.manifest is not None:
            _settle(objects, look)
        elif look.manifest is None and not look.problems:
            absent.append(look)
    deadline = clock.monotonic() + MAKING_S
    while absent := [look for look in absent if not _is_made(objects, look)]:
        if clock.monotonic() > deadline:
            break
        Event().wait(_POLL_S)
    for look in absent:
        look.problems.append(NO_MANIFEST)


def _settle(objects: Objects, look: PartitionLook) -> None:
    newest = load_newest(Versions(objects, look.home.manifests))
    if newest is not None:
        listed = {each.name for each in newest[0].segments}
        gone = [name for name in look.beyond if offsets_in(name).end <= newest[0].flushed]
        look.leftovers += sum(name not in listed for name in gone)
        look.beyond = [name for name in look.beyond if name not in gone]


def _is_made(objects: Objects, look: PartitionLook) -> bool:
    look.is_new = Versions(objects, look.home.manifests).newest() is not None
    return look.is_new
