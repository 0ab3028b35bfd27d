"""What can be wrong with objects that carry a version and a crc, and with taking the next version.

Rejected
└── NewerFormat        written by a later release: upgrade, nothing was misread
Unavailable
├── Undecided          the store did not say whether a version was taken: ask again
└── Stale              silent for too long: list the versions again before writing
Fenced
├── HigherEpoch        a writer with a higher epoch has committed
└── AnotherProcess     a process with our identity, such as one over a copy of our data directory, has committed
Corrupt
├── Damaged            bytes are not what was written
└── StoreSetBack       the store lacks a version that was there
"""

from __future__ import annotations

from holdfast.errors import Corrupt, Fenced, Rejected, Unavailable


class Undecided(Unavailable):
    """The store failed so often that it is not known whether the object was put."""

    def __init__(self, name: str, tries: int, cause: object) -> None:
        super().__init__(f"after {tries} tries it is not known whether {name} was written: {cause}")
        self.name = name
        self.tries = tries


class Stale(Unavailable):
    """Too much time has passed since the newest version was seen: its number may have been used and deleted."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not written: list the versions again first")
        self.name = name


class HigherEpoch(Fenced):
    """A writer with a higher epoch has committed."""

    def __init__(self, name: str, mine: int, found: int) -> None:
        super().__init__(f"{name} was written in epoch {found}; this writer's is {mine}")
        self.name = name
        self.mine = mine
        self.found = found


class AnotherProcess(Fenced):
    """Our writer, our epoch, and not us."""

    def __init__(self, name: str, epoch: int, flushed: int) -> None:
        super().__init__(
            f"another process has appended in epoch {epoch}, which is ours, up to offset {flushed} ({name}): it has a "
            "copy of this broker's data directory, or has taken over from it; only one of the two may go on"
        )
        self.name = name
        self.epoch = epoch
        self.flushed = flushed


class Damaged(Corrupt):
    """Bytes are not what was written."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} is damaged: {what}")
        self.name = name
        self.what = what


class NewerFormat(Rejected):
    """An object was written by a later release."""

    def __init__(self, name: str, found: int, known: int) -> None:
        super().__init__(f"{name} has format version {found}; this release knows up to {known}: use a newer one")
        self.name = name
        self.what = f"it has format version {found}; this release knows up to {known}: use a newer one"
        self.found = found
        self.known = known


class StoreSetBack(Corrupt):
    """The store was put back to an older state under a process that runs."""

    def __init__(self, url: str, kind: str, known: int, newest: int | None) -> None:
        found = "none of it is left" if newest is None else f"the newest there is {newest}"
        super().__init__(
            f"{url} was put back to an older state: this broker has seen version {known} of the {kind}, and {found}; "
            "stop all brokers, look whether the store is the one that is meant, then start them"
        )
        self.known = known
        self.newest = newest
