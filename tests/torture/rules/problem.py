"""What a rule finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from tests.torture.facts import Facts


class Problem(NamedTuple):
    rule: str
    text: str


Rule: TypeAlias = Callable[[Facts], Iterator[Problem]]
