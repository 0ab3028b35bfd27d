"""Sync and both brokers are killed at random moments, and both sides end equal."""

from __future__ import annotations

from pathlib import Path

from tests.sync.rounds import Rounds


def test_killed_at_random_both_sides_end_equal(tmp_path: Path) -> None:
    """S8: nothing is lost, doubled or echoed, whoever is killed, and of each origin the order is kept.
    The test of S8."""
    report = Rounds(tmp_path, 1, 10_000, 6).run()
    assert sum(report.kills.values()) == 6


def test_a_group_fails_over_after_kills(tmp_path: Path) -> None:
    """S8: offsets of a group that reads on are carried by a sync that is killed; at B it goes on exactly."""
    victims = ("sync", "sync", "b")  # A stays: what it has answered of a commit is known.
    report = Rounds(tmp_path, 2, 10_000, 3, both=False, victims=victims, read_count=6000).run()
    assert sum(report.kills.values()) == 3
