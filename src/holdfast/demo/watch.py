"""Who looks on while the demo runs."""

from __future__ import annotations

from typing import Protocol


class Watch(Protocol):
    """Is told how far a step is, and what happens on the way."""

    def at(self, done: int, total: int) -> None:
        """So many events of so many."""

    def say(self, sentence: str) -> None:
        """Something worth a line has happened."""
