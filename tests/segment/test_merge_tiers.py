"""Merging in tiers: how often a byte is written again, and how many segments are left, over a long time."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from holdfast.segment.compaction.merge import runs_worth_it

MIB = 1 << 20
SEGMENT_SIZE = 64 * MIB
FLUSHES = 30 * 24 * 12  # In 30 days, one every five minutes.


def written_again(flushes: int, size_of: Callable[[], int]) -> tuple[float, int]:
    """How often each byte is written again by merging, and the largest number of segments there ever is."""
    sizes: list[int] = []
    flushed = merged = most = 0
    for _ in range(flushes):
        sizes.append(size_of())
        flushed += sizes[-1]
        for run in reversed(list(runs_worth_it(sizes, SEGMENT_SIZE))):
            total = sum(sizes[run.start : run.stop])
            merged += total
            sizes[run.start : run.stop] = [total]
        most = max(most, sum(2 * size < SEGMENT_SIZE for size in sizes))
    assert sum(sizes) == flushed
    return merged / flushed, most


@pytest.mark.parametrize(
    ("size_of", "name"),
    [
        (lambda chance: 2000, "the same"),
        (lambda chance: chance.randrange(200, 4000), "even"),
        (lambda chance: int(chance.paretovariate(1.1) * 500), "a few large ones among small ones"),
        (lambda chance: 2000 if chance.random() < 0.99 else 5 * MIB, "bursts"),
    ],
    ids=["the same", "even", "heavy tail", "bursts"],
)
def test_a_byte_is_written_again_a_few_times_in_a_month(size_of: Callable[..., int], name: str) -> None:
    """D11: 30 days of small flushes: each byte is rewritten at most 6 times, and few small segments are left."""
    chance = random.Random(7)
    times, most = written_again(FLUSHES, lambda: size_of(chance))
    assert times <= 6, (name, times)
    assert most <= 70, (name, most)


def test_a_byte_is_written_again_a_few_times_on_the_whole_way_to_a_full_segment() -> None:
    """D11: from 8 kB to 64 MiB each byte is rewritten at most 6 times."""
    times, most = written_again(3 * SEGMENT_SIZE // 8000, lambda: 8000)
    assert times <= 6, times
    assert most <= 60, most


def test_what_is_large_stays() -> None:
    """A7: a segment of half the size or more is never merged, and two that make one are."""
    assert list(runs_worth_it([SEGMENT_SIZE // 2] * 20, SEGMENT_SIZE)) == []
    assert list(runs_worth_it([SEGMENT_SIZE // 3] * 2, SEGMENT_SIZE)) == [range(2)]
    assert list(runs_worth_it([1000, *[10] * 8], SEGMENT_SIZE)) == [range(1, 9)]
