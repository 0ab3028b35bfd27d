"""The broker killed with SIGKILL under load, with real producers and consumer groups."""

from __future__ import annotations

from pathlib import Path

from tests.kill.rounds import run

SEED = 20
ROUNDS = 20


def test_nothing_acknowledged_is_lost_doubled_or_moved(tmp_path: Path) -> None:
    """A8, K3, K4: 20 kills under load; acked records are there once and in order, groups carry on, offsets stay."""
    history, problems = run(tmp_path, ROUNDS, SEED)
    assert not problems, f"seed {SEED}: {problems[:5]}"
    assert len(history.acked) > 1000, "there was hardly any load"
