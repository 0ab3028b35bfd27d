"""Ten thousand crashes on the simulated disk, and that a search finds what there is to find."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from tests.support.seed_search import crash_points, search
from tests.wal.log_lives import LIVES_PER_SEED, LogLives
from tests.wal.model import Model, Version

from holdfast.wal import LogId, Vote

BLOCKS = 8
SEEDS_PER_BLOCK = 10_000 // BLOCKS // LIVES_PER_SEED


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Every crash is logged, and here all are wanted."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_ten_thousand_crashes(block: int) -> None:
    """W10, D10: all kinds of records, kill and power cut, several in a row, failing disks, crashes in opens, recycling,
    and lost blocks at the end of silent logs. The test of W10."""
    counts, found = search(LogLives, range(block * SEEDS_PER_BLOCK, (block + 1) * SEEDS_PER_BLOCK))
    assert crash_points(counts) == 10_000 // BLOCKS
    told = "\n".join(f"seed {seed}: {type(failure).__name__}: {failure}" for seed, failure in found.items())
    assert not found, f"repeat with python -m tests.wal.crash_search --seeds 1 --start SEED\n{told}"
    tried = ["acknowledged", "opened", "closed", "crashed", "failed", "failed to open", "killed", "power cut", "idle"]
    for what in (*tried, "block not needed", "lost block told"):
        assert counts[what] > 5, f"the search never tried what it should: {what}"


def test_the_same_seed_gives_the_same_run() -> None:
    """W10: a seed that found something can be repeated."""
    runs = [LogLives(7), LogLives(7), LogLives(8)]
    for run in runs:
        run.run()
    assert runs[0].counts == runs[1].counts
    assert runs[0]._model == runs[1]._model
    assert runs[0]._model != runs[2]._model


def entry(index: int) -> tuple[LogId, bytes]:
    return LogId(1, index), b"%d" % index


def acked_and_open() -> Model:
    """Entries 0 to 3 and a vote, all acknowledged; entry 4 is not."""
    model = Model()
    model.append(LogId(1, 0), [b"0", b"1", b"2", b"3"])
    model.save_vote(Vote(2, 1))
    model.acknowledge(model.mark)
    model.append(LogId(1, 4), [b"4"])
    return model


def test_the_model_takes_every_version_from_the_last_acknowledged_one() -> None:
    """W10: with or without what was not acknowledged."""
    for count in (4, 5):
        acked_and_open().check(Version(vote=Vote(2, 1), entries=tuple(entry(n) for n in range(count))))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Version(vote=Vote(2, 1), entries=tuple(entry(n) for n in range(3))), "An acknowledged entry was lost"),
        (Version(vote=Vote(2, 1)), "An acknowledged entry was lost"),
        (Version(vote=Vote(2, 1), entries=(*(entry(n) for n in range(4)), (LogId(1, 4), b"x"))), "A ghost came back"),
        (Version(vote=Vote(2, 1), entries=tuple(entry(n) for n in range(6))), "A ghost came back"),
        (Version(vote=Vote(2, 1), entries=tuple(entry(n) for n in (0, 2, 1, 3))), "The order does not hold"),
        (Version(vote=Vote(1, 1), entries=tuple(entry(n) for n in range(4))), "the state went back"),
        (Version(entries=tuple(entry(n) for n in range(5))), "the state went back"),
    ],
)
def test_the_model_takes_nothing_else(found: Version, message: str) -> None:
    """W10: the sentences of a crash test, each shown to be said."""
    with pytest.raises(AssertionError, match=message):
        acked_and_open().check(found)


def test_a_cut_entry_that_comes_back_is_a_ghost() -> None:
    """W10: a truncation that was acknowledged is never undone."""
    model = acked_and_open()
    before = model.now
    model.truncate(2)
    model.acknowledge(model.mark)
    with pytest.raises(AssertionError, match="A ghost came back"):
        model.check(before)
