"""What is wrong, and where: one value for everything that a look at stored data can find."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.errors import HoldfastError

WAL = "the write-ahead log"


class Problem(NamedTuple):
    """One thing that is not as it was written."""

    name: str  # Of the object, or `WAL`.
    what: str
    position: int | None = None  # A byte of the object, or the index of an entry of the write-ahead log.

    def __str__(self) -> str:
        unit = "entry" if self.name == WAL else "byte"
        where = "" if self.position is None else f" at {unit} {self.position}"
        return f"{self.name}{where}: {self.what}"


def problem_of(name: str, damage: HoldfastError, position: int | None = None) -> Problem:
    """What an error says; one that carries its facts is not made to repeat the name."""
    return Problem(getattr(damage, "name", name), getattr(damage, "what", None) or str(damage), position)
