"""What a sync copies that stops by itself: all that was there when it began, and what was made in its place since."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from uuid import UUID

from holdfast.client import LATEST, Client
from holdfast.sync.carry.lane import CopyLane
from holdfast.types import ClusterPartition

log = logging.getLogger(__name__)


class Goals:
    """Up to where each partition is to be copied. Topics and partitions that are new meanwhile have no goal."""

    def __init__(self) -> None:
        self._ends: dict[ClusterPartition, int] = {}
        self._ids: dict[str, UUID | None] = {}  # The topics of the first start; None for one that is gone.
        self._is_set = False

    def set(self, lanes: Iterable[CopyLane], source: Client) -> None:
        """At each start: a topic that was made again is another one, and has a goal of its own."""
        lanes = list(lanes)
        found: dict[str, UUID | None] = {each.where.topic: each.home.topic_id for each in lanes}
        if self._is_set:
            found = {name: found.get(name) for name in self._ids}
        changed = {name for name, id_ in found.items() if not self._is_set or self._ids[name] != id_}
        wanted = [each for each in lanes if each.where.topic in changed]
        ends = source.list_offsets({each.where: LATEST for each in wanted}, committed=True) if wanted else {}
        self._ends |= {each.home: ends[each.where].offset for each in wanted}
        for name in sorted(changed) if self._is_set else ():
            _tell(name, is_there=found[name] is not None)
        self._ids, self._is_set = found, True

    def are_reached(self, lanes: Sequence[CopyLane]) -> bool:
        """Whether all is copied that can be."""
        return all(
            each.held or (each.settled and each.point.position >= self._ends.get(each.home, 0)) for each in lanes
        )


def _tell(topic: str, *, is_there: bool) -> None:
    what = "made again: the new one is copied from its beginning" if is_there else "deleted"
    log.warning("topic %s at the source was %s; what was not copied of the old one yet is gone", topic, what)
