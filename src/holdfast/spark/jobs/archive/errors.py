"""What can go wrong when topics are archived. In every case nothing of the run is visible.

Rejected
├── ExpiredFirst     records are gone that were never archived
└── OtherLayout      the target holds something else
Corrupt
└── ArchiveAhead     the log ends before its archive does
"""

from __future__ import annotations

from holdfast.errors import Corrupt, Rejected


class ExpiredFirst(Rejected):
    """Records are gone that were never archived."""

    def __init__(self, where: str, start: int, end: int, reason: str) -> None:
        super().__init__(
            f"{where}: offsets [{start}, {end}) are gone before they were archived: {reason}. Run it with "
            "--skip-expired to go on without them, and more often from then on"
        )
        self.where = where
        self.start = start
        self.end = end
        self.reason = reason


class OtherLayout(Rejected):
    """The target holds something that such a run must not add to."""

    def __init__(self, url: str, what: str, advice: str = "name another place") -> None:
        super().__init__(f"{url} {what}: {advice}")
        self.url = url
        self.what = what


class ArchiveAhead(Corrupt):
    """The archive holds offsets that the log does not have: the log is not the one that was archived."""

    def __init__(self, where: str, archived: int, end: int) -> None:
        super().__init__(
            f"{where}: the archive ends at offset {archived}, but the log at {end}: it has lost records or was put "
            "back to an earlier state. Archive it to another place"
        )
        self.where = where
        self.archived = archived
        self.end = end
