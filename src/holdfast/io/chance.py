"""Randomness, handed in: the system's for real runs, a seeded one for runs that can be repeated."""

from __future__ import annotations

import random
from typing import Protocol


class Chance(Protocol):
    """Where random numbers come from."""

    def bits(self, count: int) -> int:
        """A random number of `count` bits."""

    def fraction(self) -> float:
        """A random number in [0, 1)."""


class SystemChance:
    """The operating system's randomness."""

    def __init__(self) -> None:
        self._source = random.SystemRandom()

    def bits(self, count: int) -> int:
        return self._source.getrandbits(count)

    def fraction(self) -> float:
        return self._source.random()


class SeededChance:
    """The same seed gives the same numbers."""

    def __init__(self, seed: int) -> None:
        self._source = random.Random(seed)

    def bits(self, count: int) -> int:
        return self._source.getrandbits(count)

    def fraction(self) -> float:
        return self._source.random()
