"""What one process leaves behind for the next to know of the time."""

from __future__ import annotations

import pytest

from holdfast.io.believed_time import KNOWN, KnownTime, read_known, save_known
from holdfast.io.clock import ManualClock, SystemClock
from holdfast.io.objects.memory import MemoryObjects


@pytest.mark.parametrize(
    ("boot", "boottime_s", "later_ms"),
    [("one", 160.0, 60_000), ("one", 40.0, 0), ("two", 160.0, 0), ("", 160.0, 0)],
)
def test_only_time_that_one_start_of_the_machine_has_counted_is_added(
    boot: str, boottime_s: float, later_ms: int
) -> None:
    """D12: boot times of two starts say nothing about each other, and a machine that was set back adds nothing."""
    known = KnownTime(1_000_000, 0.0, "one", 100.0)
    assert known.later(boot, boottime_s) == 1_000_000 + later_ms
    assert KnownTime(1_000_000).later(boot, boottime_s) == 1_000_000, "Of an earlier release."


def test_what_is_kept_comes_back() -> None:
    """D12, O5: also what an earlier release has kept, which had no boot time."""
    objects = MemoryObjects(clock=ManualClock(5_000_000))
    known = KnownTime(1_000_000, 3.5, "one", 100.25)
    save_known(objects, known)
    assert read_known(objects) == known
    objects.put(KNOWN, [b'{"believed_ms": 1000000, "stood_s": 3.5}'])
    assert read_known(objects) == KnownTime(1_000_000, 3.5)


def test_this_machine_tells_its_starts_apart() -> None:
    """D12: two processes of one start say the same."""
    assert SystemClock().boot() == SystemClock().boot() != ""
