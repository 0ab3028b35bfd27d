"""Sync and both brokers are killed at random moments, and both sides end equal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.sync.rounds import Rounds


@pytest.mark.parametrize(("seed", "kills", "both"), [(1, 6, True), (2, 3, False)])
def test_killed_at_random_both_sides_end_equal(tmp_path: Path, seed: int, kills: int, both: bool) -> None:
    """S8: nothing is lost, doubled or echoed, whoever is killed, and of each origin the order is kept."""
    report = Rounds(tmp_path, seed, 10_000, kills, both=both).run()
    assert sum(report.kills.values()) == kills
