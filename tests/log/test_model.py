"""The partition log against a plain history, under everything that can happen to it, in any order.

Thousands of steps; after every one of them each offset in [log start, high watermark) is readable exactly once with its
own bytes. The seed is in the test's name. HOLDFAST_MODEL_SEEDS=20:40 plays others, HOLDFAST_MODEL_SHRINK=0 shows a
failure as it was found, without looking for the shortest way to it.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.log.machine import PartitionMachine

START, _, END = os.environ.get("HOLDFAST_MODEL_SEEDS", "0:8").partition(":")
PLAYED = settings(
    max_examples=12,
    stateful_step_count=120,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink) if os.environ.get("HOLDFAST_MODEL_SHRINK", "1") == "1" else (Phase.generate,),
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    report_multiple_bugs=False,
)


@pytest.mark.parametrize("number", range(int(START), int(END)), ids=lambda number: f"seed-{number}")
def test_every_offset_is_readable_exactly_once(number: int) -> None:
    """L1, L2, L6, A1, A2, A3: appends, flushes step by step, failing and lying stores, other writers, roll-over,
    crashes, reopening, retention, deletes, reads: nothing is lost, doubled, hidden, or said too early.
    The test of L2."""
    print(f"seed {number}")
    run_state_machine_as_test(seed(number)(PartitionMachine), settings=PLAYED)
