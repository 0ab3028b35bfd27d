"""What can be wrong with stored segments and manifests, and with changes to them.

Rejected
├── NewerFormat        written by a later release: upgrade, nothing was misread
├── NoManifest         the partition has none: it was never made, or is deleted
├── WrongCluster       the store belongs to another cluster
└── DoesNotFit         a change was made for another state of the manifest
Unavailable
├── Undecided          the store did not say whether a version was taken: ask again
├── Stale              silent for too long: list the versions again before writing
└── SegmentTooOld      a segment was put so long ago that it may be collected: put it again
Fenced
├── HigherEpoch        a writer with a higher epoch has committed
└── AnotherProcess     another process of our writer and our epoch has appended
Corrupt
├── Damaged            bytes of a segment or a manifest are not what was written
└── SegmentLost        the manifest lists a segment that is not in the store
"""

from __future__ import annotations

from holdfast.errors import Corrupt, Rejected, Unavailable
from holdfast.io.store_errors import AnotherProcess, Damaged, HigherEpoch, NewerFormat, Stale, Undecided

__all__ = [
    "AnotherProcess",
    "Damaged",
    "DoesNotFit",
    "HigherEpoch",
    "NewerFormat",
    "NoManifest",
    "SegmentLost",
    "SegmentTooOld",
    "Stale",
    "Undecided",
    "WrongCluster",
]


class NoManifest(Rejected):
    """A partition has no manifest."""

    def __init__(self, prefix: str) -> None:
        super().__init__(f"there is no manifest under {prefix}")
        self.prefix = prefix


class WrongCluster(Rejected):
    """The store belongs to another cluster."""

    def __init__(self, name: str, found: str, expected: str) -> None:
        super().__init__(f"{name} belongs to cluster {found}, not to {expected}: this is another cluster's store")
        self.name = name
        self.found = found
        self.expected = expected


class DoesNotFit(Rejected):
    """A change was made for another state of the manifest."""

    def __init__(self, change: str, reason: str) -> None:
        super().__init__(f"cannot {change}: {reason}")
        self.change = change
        self.reason = reason


class SegmentTooOld(Unavailable):
    """A segment was put so long ago that it may be collected, or is already gone: put it again under a new name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} was put too long ago to be listed now: put it again under a new name")
        self.name = name


class SegmentLost(Corrupt):
    """The manifest lists a segment that is not in the store."""

    def __init__(self, name: str, version: int) -> None:
        super().__init__(f"{name} is not in the store, but manifest version {version} lists it")
        self.name = name
        self.what = f"it is not in the store, but manifest version {version} lists it"
        self.version = version
