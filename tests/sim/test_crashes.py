"""The whole broker but its sockets on a simulated disk: kills and power cuts at any call, and clients that remember."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator

import pytest
from tests.sim.broker_lives import LIVES_PER_SEED, BrokerLives
from tests.support.seed_search import crash_points, search

BLOCKS = 4
SEEDS_PER_BLOCK = 20


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Every crash is logged, and here all are wanted."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_crash_loses_or_invents_anything(block: int) -> None:
    """A8, W10, K3, K4, K6: records, offsets, groups, topics; crashes in use, in a start, in a flush, in a stop."""
    seeds = range(block * SEEDS_PER_BLOCK, (block + 1) * SEEDS_PER_BLOCK)
    print(f"seeds {seeds.start} to {seeds.stop - 1}")
    counts, found = search(BrokerLives, seeds, found_max=2)
    told = "\n".join(f"seed {seed}: {type(failure).__name__}: {failure}" for seed, failure in found.items())
    assert not found, f"repeat with python tests/sim/search.py --seeds 1 --start SEED\n{told}"
    assert crash_points(counts) == SEEDS_PER_BLOCK * LIVES_PER_SEED + counts["usurped"]
    for what in ("acknowledged", "offsets committed", "members joined", "topics made", "topics deleted", "closed"):
        assert counts[what] >= 10, f"the search hardly tried what it should: {what}"
    assert counts["reads during an fsync"] >= 5
    assert min(counts["usurped"], counts["clock jumps"]) >= 1


@pytest.mark.parametrize("block", range(2))
def test_no_crash_loses_or_invents_anything_with_the_log_in_the_store(block: int) -> None:
    """C4, A8, K3, K4, K6: the same, with rounds in place of a disk, which nobody has after a crash."""
    seeds = range(block * SEEDS_PER_BLOCK, (block + 1) * SEEDS_PER_BLOCK)
    print(f"seeds {seeds.start} to {seeds.stop - 1}")
    counts, found = search(functools.partial(BrokerLives, place="store"), seeds, found_max=2)
    told = "\n".join(f"seed {seed}: {type(failure).__name__}: {failure}" for seed, failure in found.items())
    assert not found, f"repeat with python tests/sim/search.py --place store --seeds 1 --start SEED\n{told}"
    for what in ("acknowledged", "offsets committed", "members joined", "topics made", "topics deleted", "closed"):
        assert counts[what] >= 10, f"the search hardly tried what it should: {what}"


def test_the_same_seed_gives_the_same_run() -> None:
    """W10: a seed that found something can be repeated."""
    runs = [BrokerLives(7), BrokerLives(7), BrokerLives(8)]
    for run in runs:
        run.run()
    assert runs[0].counts == runs[1].counts
    assert runs[0].model == runs[1].model
    assert runs[0].model != runs[2].model
