"""What can be wrong with a request to any coordinator.

Rejected
└── TextTooLong                a name is longer than a record can hold
Unavailable
├── CoordinatorLoading         the internal partition is being read
├── NotCoordinator             another broker has the internal partition
└── CoordinatorStopped         this coordinator is closing
Corrupt
├── CoordinatorQuarantined     the internal partition is corrupt: nothing in it is served until it is repaired
├── CorruptRecord              a stored record is not what was written
└── NewerRecord                a stored record has a version that only a newer release understands
"""

from __future__ import annotations

from holdfast.errors import Corrupt, Rejected, Unavailable


class TextTooLong(Rejected):
    """A name is longer than a record can hold."""

    def __init__(self, what: str, size: int, size_max: int) -> None:
        super().__init__(f"a {what} of {size} bytes is longer than the {size_max} allowed")
        self.what = what
        self.size = size
        self.size_max = size_max


class CoordinatorLoading(Unavailable):
    """The internal partition is being read."""

    def __init__(self, partition: int) -> None:
        super().__init__(f"internal partition {partition} is being loaded")
        self.partition = partition


class NotCoordinator(Unavailable):
    """Another broker has the internal partition."""

    def __init__(self, partition: int) -> None:
        super().__init__(f"internal partition {partition} is not here")
        self.partition = partition


class CoordinatorStopped(Unavailable):
    """This coordinator is closing; another one, or the next one, will answer."""

    def __init__(self) -> None:
        super().__init__("the coordinator is stopping")


class CoordinatorQuarantined(Corrupt):
    """An internal partition is corrupt. All others are served."""

    def __init__(self, of: str, partition: int, why: Corrupt) -> None:
        super().__init__(f"internal partition {partition} of {of} is in quarantine until it is repaired: {why}")
        self.of = of
        self.partition = partition
        self.why = why


class CorruptRecord(Corrupt):
    """A stored record is not what was written."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"a stored {kind} cannot be read: {reason}")
        self.kind = kind
        self.reason = reason


class NewerRecord(Corrupt):
    """A stored record has a version that only a newer release understands."""

    def __init__(self, kind: str, version: int, version_max: int) -> None:
        super().__init__(f"a stored {kind} has version {version}; this release reads up to {version_max}: upgrade")
        self.kind = kind
        self.version = version
        self.version_max = version_max
