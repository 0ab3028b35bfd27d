"""What can be wrong with a series of rounds.

Fenced
└── SeriesEnded     a seal is in the way: another has taken over what this life did
Corrupt
└── SeriesBroken    a round is missing that must be there
"""

from __future__ import annotations

from holdfast.errors import Corrupt, Fenced


class SeriesEnded(Fenced):
    """A life is over: nothing of it is acknowledged any more."""

    def __init__(self, name: str, why: object) -> None:
        super().__init__(f"{name} is a seal ({why}): another process has taken over, and this one has to stop")
        self.name = name


class SeriesBroken(Corrupt):
    """Acknowledged records may be in what is missing."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is missing, and no seal is before it: restore it from a backup of the store")
        self.name = name
