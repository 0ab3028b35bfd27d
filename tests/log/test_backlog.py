"""The orders of what waits, held against a plain sort."""

from __future__ import annotations

import random

from holdfast.log.background.backlog import Largest, Oldest


def test_the_lowest_number_is_known_whatever_moved_on_left_or_came_back() -> None:
    """D4: an entry is let go only when no tail needs it: the lowest first entry is right at any moment."""
    chance = random.Random(3)
    numbers: dict[str, int | None] = {}
    oldest = Oldest[str](lambda name: numbers.get(name))
    for newest in range(20_000):
        name = f"tail {chance.randrange(50)}"
        number, drawn = numbers.get(name), chance.random()
        if number is None:
            numbers[name] = newest
            oldest.add(name)
        elif drawn < 0.3:
            numbers[name] = None
        elif drawn < 0.7:
            numbers[name] = chance.randrange(number, newest + 1)
        if chance.random() < 0.3:
            assert oldest.lowest() == min((each for each in numbers.values() if each is not None), default=None)
    assert len(oldest) <= 50


def test_the_largest_is_known_to_within_a_factor_of_two() -> None:
    """D11: what is given first is at least half as large as the largest, and each is given once."""
    chance = random.Random(4)
    sizes: dict[str, int] = {}
    largest = Largest[str](lambda name: sizes.get(name, 0))
    for _ in range(5_000):
        name = f"tail {chance.randrange(40)}"
        sizes[name] = 0 if chance.random() < 0.2 else int(2 ** (20 * chance.random()))
        largest.note(name)
        there = {each for each, size in sizes.items() if size}
        first = largest.first()
        assert (first is None) == (not there)
        assert first is None or sizes[first] * 2 >= max(sizes.values())
    assert sorted(largest) == sorted(there)
