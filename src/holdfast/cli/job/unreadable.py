"""What a job has stepped over because nobody can read it, as lines for the person who started it."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.cli.terminal.talk import tell
from holdfast.record.unreadable import SteppedOver
from holdfast.units import counted

_LINES_MAX = 20


def tell_unreadable(found: Mapping[str, SteppedOver]) -> None:
    """The first batches by name, then how many there are in all."""
    lines = [f"holdfast: {where}: {each}" for where, stepped in found.items() for each in stepped.named]
    for line in lines[:_LINES_MAX]:
        tell(line)
    batches, offsets = sum(each.batches for each in found.values()), count_unreadable(found)
    if batches:
        what = f"{counted(batches, 'batch')} with {counted(offsets, 'offset')}"
        tell(f"holdfast: {what} cannot be read by anybody, and {'was' if batches == 1 else 'were'} left out")


def count_unreadable(found: Mapping[str, SteppedOver]) -> int:
    """Offsets in all."""
    return sum(each.offsets for each in found.values())
