"""Compile all loops once, so that later processes find them: `python -m holdfast.sync.warm`, at installation."""

from __future__ import annotations

from uuid import UUID

from holdfast.record.build import build
from holdfast.record.decode import decode
from holdfast.record.records import Record
from holdfast.sync.mark import Home
from holdfast.sync.marking import Marks


def warm() -> None:
    """Use everything that gets compiled."""
    home = Home("cluster", UUID(int=0), 0)
    columns = decode([build([Record(b"key", b"value", 0, (("name", b"value"),)), Record()])])
    marks = Marks.of(columns)
    marks.offsets_from(home)
    marks.came_through(home)
    marks.with_hop(home)


if __name__ == "__main__":
    warm()
