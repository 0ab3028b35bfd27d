"""Rounds in the store under attack: processes that take over from each other, stopped and failing at every call."""

from __future__ import annotations

import os

import pytest
from tests.rounds.world import World
from tests.support.seed_search import search

BLOCKS = 4
SEEDS_PER_BLOCK = int(os.environ.get("HOLDFAST_ROUNDS_SEEDS", "160")) // BLOCKS


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_schedule_loses_or_invents_anything(block: int) -> None:
    """C2, C3, C4: rounds under way together, sealers, late answers, hours of sleep, purge, forgetting.

    The test of C2 and C4.
    """
    seeds = range(block * SEEDS_PER_BLOCK, (block + 1) * SEEDS_PER_BLOCK)
    print(f"seeds {seeds.start} to {seeds.stop - 1}")
    counts, found = search(World, seeds, found_max=2)
    told = "\n".join(f"seed {seed}: {type(failure).__name__}: {failure}" for seed, failure in found.items())
    assert not found, f"repeat with python tests/rounds/search.py --seeds 1 --start SEED\n{told}"
    for what in ("acknowledged", "taken over", "killed", "sealed behind its back", "purged", "forgotten", "swept"):
        assert counts[what] >= SEEDS_PER_BLOCK // 4, f"the search hardly tried what it should: {what}"


def test_the_same_seed_gives_the_same_run() -> None:
    """W10: a seed that found something can be repeated."""
    runs = [World(3), World(3), World(4)]
    for run in runs:
        run.run()
    assert runs[0].counts == runs[1].counts
    assert runs[0].acked == runs[1].acked
    assert runs[0].acked != runs[2].acked
