"""The torture test's schedule and controls."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.torture.brokers_faults import KINDS as BROKER_KINDS
from tests.torture.brokers_faults import BrokersFaults, brokers_schedule
from tests.torture.controls import NAMES, QUIET, Controls
from tests.torture.disk import MountedDisk, can_mount
from tests.torture.faults import Faults
from tests.torture.schedule import ALL, ENDS, HEALS, KINDS, LAST, LAST_BEFORE_S, schedule


def test_a_seed_repeats_its_schedule() -> None:
    """A8: the same seed gives the same faults at the same times, another seed others."""
    assert schedule(7, 60) == schedule(7, 60)
    assert schedule(7, 60) != schedule(8, 60)


def test_every_fault_comes_soon() -> None:
    """A8, K7: a run of two minutes sees every kind of fault, and each can be carried out."""
    assert {fault.kind for fault in schedule(7, 120, ALL, secured=True)} == set(ALL)
    assert all(callable(getattr(Faults, kind)) for kind in ALL)


def test_every_fault_of_several_brokers_comes_soon() -> None:
    """A8, C2: a run of two minutes sees every kind, each can be carried out, and a seed repeats them."""
    plan = brokers_schedule(7, 120)
    assert plan == brokers_schedule(7, 120)
    assert plan != brokers_schedule(8, 120)
    assert {fault.kind for fault in plan} == set(BROKER_KINDS)
    assert all(callable(getattr(BrokersFaults, kind)) for kind in BROKER_KINDS)


def test_a_kind_that_is_left_out_changes_no_other() -> None:
    """A8: so that a run can be made again without one fault, and with the same others."""
    without = schedule(7, 120, [kind for kind in KINDS if kind != "kill"])
    assert without == [fault for fault in schedule(7, 120, KINDS) if fault.kind != "kill"]


def test_what_is_half_done_is_not_healed() -> None:
    """D4: behind the last deletion comes no other that would carry it on, and faults go on."""
    plan = schedule(7, 120, ALL)
    [half] = [fault for fault in plan if fault.kind == LAST]
    assert half.at == 120 - LAST_BEFORE_S
    later = {fault.kind for fault in plan if fault.at > half.at}
    assert later
    assert not later & set(HEALS)


def test_a_long_run_ends_with_a_long_life() -> None:
    """A8: in the last third of a long run faults go on, but none of them ends the broker."""
    late = {fault.kind for fault in schedule(7, 600, ALL, secured=True) if fault.at > 400}
    assert late == set(ALL) - set(ENDS)


def test_a_full_disk_is_full(tmp_path: Path) -> None:
    """A8: a disk of the test's own finds no space for one byte more, and has it back afterwards."""
    if not can_mount(tmp_path):
        pytest.skip("this user may not mount a file system")
    with MountedDisk(tmp_path / "disk") as disk:
        disk.full()
        with pytest.raises(OSError, match="No space left"):
            (disk.path / "more").write_bytes(b"x")
        disk.quiet()
        (disk.path / "more").write_bytes(b"x")


def test_controls_are_seen_by_whoever_has_the_file_open(tmp_path: Path) -> None:
    """A8: what the test sets, the broker finds, also one that is started later."""
    test, broker = Controls(tmp_path / "controls"), Controls(tmp_path / "controls")
    test["sync_fails"] = 1
    assert broker["sync_fails"] == 1
    assert Controls(tmp_path / "controls")["sync_fails"] == 1
    broker.quiet("sync_fails")
    assert {name: test[name] for name in NAMES} == QUIET
