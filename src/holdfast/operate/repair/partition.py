"""What is wrong with one partition, and what it will be: from its manifests, its segments, and the records in tails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.errors import Corrupt
from holdfast.io.objects import NotFound, Objects
from holdfast.io.versions import Versions
from holdfast.log.partition.epochs import Epochs
from holdfast.operate.repair.item import Item
from holdfast.operate.repair.segment import Survivors, examine, is_right
from holdfast.record.batch import BatchHeader
from holdfast.segment.index import Segment
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.load import load_version
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.names import parse_segment_name
from holdfast.segment.producers import ProducerState
from holdfast.segment.verify import verify
from holdfast.types import OffsetRange, PartitionId

Batch = tuple[BatchHeader, memoryview]


@dataclass
class PartitionPlan:
    """One partition: what is left of it. Without items it is sound, and stays as it is."""

    home: PartitionId
    name: str  # The topic's name and the partition's number, for people.
    manifest: Manifest | None = None
    newest: int | None = None  # The highest version there is, readable or not.
    segments: list[SegmentInfo] = field(default_factory=list)
    damaged: dict[str, Survivors] = field(default_factory=dict)  # Segments to be written again, by name.
    producers: dict[int, ProducerState] | None = None  # After the segments, where the manifest does not say.
    tail: list[Batch] = field(default_factory=list)  # Behind the segments; may have holes.
    start: int = 0  # Where the segments begin, or would.
    end: int = 0  # Where the partition will end.
    items: list[Item] = field(default_factory=list)
    originals: list[str] = field(default_factory=list)  # Objects to be kept a copy of.

    @property
    def flushed(self) -> int:
        return self.segments[-1].end if self.segments else self.start

    def note(self, kind: str, what: str, start: int | None = None, end: int | None = None) -> None:
        self.items.append(Item(kind, self.name, what, start, end))


def survey(
    objects: Objects,
    home: PartitionId,
    name: str,
    tail: Iterable[Batch],
    mark: int,
    restored: Sequence[Batch],
    quarantined_end: int = 0,
) -> PartitionPlan:
    """Look at everything of a partition. `restored` are batches from quarantine, which had offsets up to `aside_end`;
    below `mark` the store had all. A batch that does not match its own crc is lost, wherever it comes from."""
    plan = PartitionPlan(home, name)
    _find_manifest(objects, plan)
    sound = [each for each in (*tail, *restored) if is_right(each[1])]
    batches = sorted(sound, key=lambda each: each[0].base_offset)
    if plan.manifest is not None:
        plan.segments = list(plan.manifest.segments)
        plan.start = plan.manifest.flushed if not plan.segments else plan.segments[0].base
    first = next((each.base_offset for each, _ in batches if each.end_offset > plan.flushed), None)
    unreadable = bool(plan.items) or (plan.manifest is None and (mark or batches))
    if unreadable or plan.flushed < (mark if first is None else first):
        _extend(objects, plan, first)
    for info in plan.segments:
        _check_segment(objects, plan, info)
    _take_tail(plan, batches, {id(each[1]) for each in restored})
    plan.end = max(plan.end, mark, quarantined_end)
    _note_holes(plan)
    return plan


def _find_manifest(objects: Objects, plan: PartitionPlan) -> None:
    """The newest version that can be read."""
    versions = Versions(objects, plan.home.manifests)
    numbers = [number for each in objects.list(versions.prefix) if (number := versions.number(each.name)) is not None]
    plan.newest = numbers[-1] if numbers else None
    for number in reversed(numbers):
        try:
            plan.manifest = load_version(versions, number, None)[0]
            return
        except (Corrupt, NotFound) as damage:
            plan.items.append(Item("manifest", versions.name(number), getattr(damage, "what", None) or str(damage)))
            plan.originals.append(versions.name(number))


def _extend(objects: Objects, plan: PartitionPlan, tail_start: int | None) -> None:
    """Find segments in the store that a lost manifest had listed: those that go on where the list ends."""
    listed = {each.name for each in plan.segments}
    spare: dict[int, list[tuple[int, int, str]]] = {}
    for each in objects.list(plan.home.segments):
        found = parse_segment_name(each.name)
        if found is not None and each.name not in listed:
            spare.setdefault(found.offsets.start, []).append((found.epoch, found.offsets.end, each.name))
    if plan.manifest is None:
        plan.start = min(spare, default=tail_start or 0)
    while tail_start is None or plan.flushed < tail_start:
        chosen = next((segment for segment in map(_sound(objects), _best(spare, plan.flushed)) if segment), None)
        if chosen is None:
            return
        plan.segments.append(chosen.info())
        known = plan.producers if plan.producers is not None else plan.manifest.producers if plan.manifest else {}
        plan.producers = {**known, **chosen.producers()}


def _best(spare: dict[int, list[tuple[int, int, str]]], base: int) -> list[str]:
    return [name for _, _, name in sorted(spare.get(base, []), reverse=True)]


class _sound:  # noqa: N801
    """Opens a segment; None where it is not whole."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def __call__(self, name: str) -> Segment | None:
        try:
            return verify(name, self._objects.get(name))
        except (Corrupt, NotFound):
            return None


def _check_segment(objects: Objects, plan: PartitionPlan, info: SegmentInfo) -> None:
    survivors = examine(objects, info, plan.manifest.version if plan.manifest else -1)
    if survivors is None:
        return
    plan.damaged[info.name] = survivors
    plan.items.append(Item("segment", info.name, survivors.what))
    if survivors.data is not None:
        plan.originals.append(info.name)
    log_start = plan.manifest.log_start if plan.manifest else 0
    for start, end in OffsetRange.joined(survivors.lost):
        if end > log_start:
            plan.note("offsets", "records of a damaged segment", max(start, log_start), end)


def _take_tail(plan: PartitionPlan, batches: list[Batch], restored: set[int]) -> None:
    """What continues the segments; what another leader has overwritten is told apart."""
    epochs = Epochs(plan.manifest.epochs) if plan.manifest else None
    diverged: list[tuple[int, int]] = []
    at = plan.flushed
    came_back: list[tuple[int, int]] = []
    log_start = plan.manifest.log_start if plan.manifest else 0
    for header, batch in batches:
        below = header.end_offset <= at
        if below or header.base_offset < at:
            overwritten = epochs is not None and epochs.at(header.base_offset) > header.leader_epoch
            if (overwritten or not below) and header.end_offset > log_start:
                diverged.append((header.base_offset, header.end_offset))
            continue
        plan.tail.append((header, batch))
        at = header.end_offset
        if id(batch) in restored:
            came_back.append((header.base_offset, header.end_offset))
    plan.end = at
    for start, end in OffsetRange.joined(diverged):
        plan.note("diverged", "another leader has written these offsets; ours are kept in quarantine", start, end)
    for start, end in OffsetRange.joined(came_back):
        plan.note("restored", "records come back from quarantine", start, end)


def _note_holes(plan: PartitionPlan) -> None:
    at = plan.flushed
    for header, _ in plan.tail:
        if header.base_offset > at:
            plan.note("offsets", "records that are nowhere", at, header.base_offset)
        at = header.end_offset
    if at < plan.end:
        plan.note("offsets", "records that are nowhere", at, plan.end)
    if plan.manifest is None and plan.start > 0:
        plan.note("offsets", "no manifest says what was here", 0, plan.start)
