"""The broker killed with SIGKILL under load, with real producers, transactions, copy loops and groups."""

from __future__ import annotations

from pathlib import Path

from tests.kill.rounds import run
from tests.kill.transactors import CLIENTS

SEED = 20
ROUNDS = 10


def test_nothing_acknowledged_is_lost_doubled_moved_or_torn(tmp_path: Path) -> None:
    """A8, K3, K4: 10 kills under load; acked records are there once and in order, groups of both protocols carry on,
    offsets stay, transactions of three clients are whole or not there, and what is copied exactly once is the same.
    The test of A8."""
    seen, problems = run(tmp_path, ROUNDS, SEED)
    failures = seen.transfers.failures + seen.copy_failures
    assert not problems, f"seed {SEED}: {problems[:5]}; clients failed with {failures[:5]}"
    assert len(seen.numbers.acked) > 1000, "there was hardly any load"
    for client in CLIENTS:
        assert any(who == client for who, _ in seen.transfers.committed), f"{client} has committed nothing: {failures}"
    assert seen.copied >= 2 * len(seen.transfers.committed) > 0
