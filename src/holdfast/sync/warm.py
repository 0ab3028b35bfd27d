"""Compile all loops once where numba does it, so that later processes find them: `python -m holdfast.sync.warm`."""

from __future__ import annotations

from uuid import UUID

import numpy as np

from holdfast.io.chance import SystemChance
from holdfast.record.build import build
from holdfast.record.columnar.decode import decode
from holdfast.record.records import Record
from holdfast.sync.carry.winners import Winners
from holdfast.sync.origin.marking import OriginMarks
from holdfast.types import ClusterPartition, TopicPartition


def warm() -> None:
    """Use everything that gets compiled."""
    home = ClusterPartition("cluster", UUID(int=0), 0)
    columns = decode([build([Record(b"key", b"value", 0, (("name", b"value"),)), Record()])])
    marks = OriginMarks.of(columns)
    marks.offsets_from(home)
    marks.came_through(home)
    marks.with_hop(home)
    winners = Winners(TopicPartition("topic", 0), home, home, SystemChance())
    winners.choose(columns, np.ones(len(columns), np.bool_))
    winners.meet(columns, np.ones(len(columns), np.bool_))


if __name__ == "__main__":
    warm()
