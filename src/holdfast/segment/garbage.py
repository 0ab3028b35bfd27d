"""What nobody needs any more, and when it may go.

    a segment that no manifest lists      when twice the grace has passed since it was put
    a segment that left the manifest      when the grace has passed since then: no version that was the newest within
                                          the grace lists it
    a manifest version                    when it is older than the full list of the version that was the newest one
                                          grace ago
    a deleted topic                       all objects under its id, at once

This is safe beside writers, whatever they are in the middle of. A writer lists a segment only within half of the grace
after it put it, so one that is twice the grace old and unlisted never will be; a writer that takes a number which was
deleted finds that the one below is deleted, too (`io.versions.take`): the lowest go first.
It is safe to stop at any moment and to run twice at a time.

Times are the store's: see `store_time_ms`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from holdfast.errors import Unavailable
from holdfast.io.clock import Clock
from holdfast.io.objects import NotFound, ObjectInfo, Objects
from holdfast.io.versions import GRACE_S, Versions, full_before
from holdfast.segment.manifest.load import load_version
from holdfast.segment.names import topic_prefixes
from holdfast.types import PartitionId

_TIME_PROBE = "garbage/now"
_FAILURES_IN_A_ROW_MAX = 64


class Collected(NamedTuple):
    """What was deleted, and how many leftovers must wait until they are older."""

    segments: list[ObjectInfo]
    versions: list[ObjectInfo]
    waiting: int = 0


def store_time_ms(objects: Objects, clock: Clock) -> int:
    """The earlier of our time and the store's: a clock that runs ahead on either side must not make things look old."""
    objects.put(_TIME_PROBE, [b""])
    probe = next(iter(objects.list(_TIME_PROBE)), None)
    return min(clock.now_ms(), probe.modified_ms) if probe else 0


def collect_partition(
    objects: Objects,
    home: PartitionId,
    now_ms: int,
    grace_s: float = GRACE_S,
    may_go: Callable[[str], bool] = lambda _: True,
) -> Collected:
    """Delete a partition's leftovers. Without a manifest nothing is known to be one, and nothing is deleted.

    Of segments that nobody lists, only those that `may_go`, too: who looks again and again knows how long it has seen
    them, which no clock can make longer.
    """
    versions = Versions(objects, home.manifests)
    listed = _listed(versions)
    if not listed:
        return Collected([], [])
    grace_ms = int(grace_s * 1000)
    newest = listed[-1][0]
    earlier = _earlier(listed, now_ms - grace_ms)
    try:
        current = _names(versions, newest)
        needed = current if earlier is None else current | _names(versions, earlier)
    except NotFound:  # Another collector, whose time is later, was quicker.
        return Collected([], [])
    stored = list(objects.list(home.segments))
    strays = [each for each in stored if each.name not in needed and may_go(each.name)]
    segments = [each for each in strays if each.modified_ms <= now_ms - 2 * grace_ms]
    passed = _passed(listed, earlier)
    _delete(objects, [*segments, *passed])  # Lowest numbers first: what is left never has a hole.
    left_over = sum(each.name not in current for each in stored) + sum(each < full_before(newest) for each, _ in listed)
    return Collected(segments, passed, left_over - len(segments) - len(passed))


def collect_versions(objects: Objects, prefix: str, now_ms: int, grace_s: float = GRACE_S) -> Collected:
    """Delete versions that were passed by, as of manifests, where they list nothing that had to go as well."""
    listed = _listed(Versions(objects, prefix))
    if not listed:
        return Collected([], [])
    passed = _passed(listed, _earlier(listed, now_ms - int(grace_s * 1000)))
    _delete(objects, passed)
    return Collected([], passed, sum(number < full_before(listed[-1][0]) for number, _ in listed) - len(passed))


Listed = Sequence[tuple[int, ObjectInfo]]


def _listed(versions: Versions) -> Listed:
    found = versions.objects.list(versions.prefix)
    return [(number, each) for each in found if (number := versions.number(each.name)) is not None]


def _earlier(listed: Listed, before_ms: int) -> int | None:
    """The version that was the newest then."""
    return max((number for number, each in listed if each.modified_ms <= before_ms), default=None)


def _passed(listed: Listed, earlier: int | None) -> list[ObjectInfo]:
    """Those below the full one of that version."""
    oldest_needed = 0 if earlier is None else full_before(earlier)
    return [each for number, each in listed if number < oldest_needed]


def collect_topic(objects: Objects, topic_id: UUID) -> int:
    """Delete everything of a deleted topic, and say how many objects that were.

    A flush that was under way may add one more: run it again, until the grace has passed and nothing is found.
    Manifests first, so that whoever misses a segment finds that its partition is gone, not damaged. Of these the newest
    first: a version is a change of the one below it, and would be damaged without that one.
    """
    found = [each for prefix in topic_prefixes(topic_id) for each in reversed([*objects.list(prefix)])]
    _delete_what_can_be(objects, found)
    return len(found)


def _delete_what_can_be(objects: Objects, infos: Sequence[ObjectInfo]) -> None:
    """One that cannot be deleted, because it is locked for instance, keeps none of the others.

    Raises the first failure. When one after the other fails, it is the store.
    """
    first: Unavailable | None = None
    in_a_row = 0
    for each in infos:
        try:
            objects.delete(each.name)
            in_a_row = 0
        except Unavailable as failure:
            first, in_a_row = first or failure, in_a_row + 1
            if in_a_row == _FAILURES_IN_A_ROW_MAX:
                break
    if first is not None:
        raise first


def _names(versions: Versions, number: int) -> set[str]:
    return {each.name for each in load_version(versions, number, None)[0].segments}


def _delete(objects: Objects, infos: Sequence[ObjectInfo]) -> None:
    for each in infos:
        objects.delete(each.name)
