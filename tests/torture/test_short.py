"""The short form of the torture test: all kinds of clients but Spark, and as many faults as fit in."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import pytest
from tests.torture.cast import Options
from tests.torture.checker import tell
from tests.torture.run import run, summary

SEED, SECONDS = 6, 9.2


@pytest.mark.timeout(400)  # Clients and broker share the machine with whoever else is at work.
def test_a_short_torture(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A8, K4: a broker is killed, frozen, cut off and starved under mixed load, and keeps every promise."""
    for name in ("aiokafka", "kafka", "asyncio"):
        caplog.set_level(logging.CRITICAL, name)
    print("make torture SYNC=1 SEED", SEED)
    outcome = run(tmp_path, SEED, SECONDS, Options(sync=True))
    print(summary(outcome.events))
    assert outcome.problems == [], "\n".join(tell(outcome.problems))
    ops = Counter(event["op"] for event in outcome.events)
    assert min(ops["fault"], ops["read"], ops["mirror"]) > 0, f"nothing was tried: {ops}"
