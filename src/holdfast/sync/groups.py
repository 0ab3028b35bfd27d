"""Offsets of consumer groups, carried to the target: who fails over goes on there where it stood at the source.

One way: the group's place is the first copy of a record that it has not read; if there is none, the target's end.

Both ways, the target has records of its own, which the source has as copies, in another order. The group's place is the
first record of the target that it has not read at the source, be it a copy or the target's own. So nothing is skipped;
what lies behind that record and was read already is read again.

A group's offset at the target never goes back, and is left alone while the group has members there.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.client import Client, Committed
from holdfast.client.errors import Refused
from holdfast.sync.carry.lane import CopyLane
from holdfast.sync.origin.place import first_copy, first_own, last_copied
from holdfast.sync.origin.scan import bounds
from holdfast.types import TopicPartition

log = logging.getLogger(__name__)


class Carried(NamedTuple):
    """A group's offset in one partition, as it was carried."""

    offset: int
    is_final: bool  # All that the group has read was copied by then.


class Groups:
    """Carries the offsets that have changed since it was last asked to."""

    def __init__(self, *, both: bool) -> None:
        self._both = both
        self._carried: dict[tuple[str, TopicPartition], Carried] = {}
        self.count = 0  # Offsets carried.

    def carry(self, lanes: Sequence[CopyLane], source: Client, target: Client) -> None:
        """All groups of the source."""
        by_place = {each.where: each for each in lanes if each.resumed}
        for group in source.list_groups():
            committed = source.fetch_offsets(group.name, stable=False)  # Open transactions decide nothing yet.
            news = {where: each for where, each in committed.items() if self._is_news(group.name, where, each)}
            self._carry(
                group.name, {where: news[where] for where in news if where in by_place}, by_place, source, target
            )

    def _is_news(self, group: str, where: TopicPartition, committed: Committed) -> bool:
        return self._carried.get((group, where)) != Carried(committed.offset, is_final=True)

    def _carry(
        self,
        group: str,
        news: Mapping[TopicPartition, Committed],
        lanes: Mapping[TopicPartition, CopyLane],
        source: Client,
        target: Client,
    ) -> None:
        if not news:
            return
        there = target.fetch_offsets(group)
        moved: dict[tuple[str, int], tuple[int, str]] = {}
        done: dict[tuple[str, TopicPartition], Carried] = {}
        for where, committed in news.items():
            position = lanes[where].point.position  # Before the target's end is asked for.
            place = self._place(lanes[where], committed.offset, source, target)
            done[group, where] = Carried(committed.offset, position >= committed.offset)
            if where not in there or there[where].offset < place:
                moved[where] = (place, committed.metadata)
        try:
            if moved:
                target.commit_offsets(group, moved)
        except Refused as failure:
            log.debug("the offsets of group %s stay as they are at the target: %s", group, failure)
            return
        self._carried |= done
        self.count += len(moved)

    def _place(self, lane: CopyLane, offset: int, source: Client, target: Client) -> int:
        """Where the group would stand in the target."""
        start, end = bounds(target, lane.where)
        copy = first_copy(target, lane.where, lane.home, offset, start, end)
        place = end if copy is None else copy
        if self._both:
            known = last_copied(source, lane.where, lane.back, offset) + 1
            own = first_own(target, lane.where, lane.home, max(start, known), place)
            place = place if own is None else own
        return place
