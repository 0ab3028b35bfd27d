"""Errors of the write-ahead log: one for each rule, with the current and the attempted value.

Rejected                          Unavailable     Stopped        Corrupt
├── NotConsecutive                └── Overloaded  ├── WalFailed  ├── ChunkGap
├── LogIdBackwards                                └── WalClosed  ├── EntriesMissing
├── LogIdUnknown                                                 └── DamagedLog
├── TruncateBelowPurged, TruncateAboveLast
├── CommitBackwards, CommitAboveLast
├── VoteBackwards
├── ReadBelowPurged
├── EntryTooLarge
└── NewerLog
"""

from __future__ import annotations

from holdfast.errors import Corrupt, Rejected, Stopped, Unavailable


class _LogRule(Rejected):
    """A rule of the log was violated."""

    sentence = ""

    def __init__(self, current: object, attempted: object) -> None:
        super().__init__(self.sentence.format(current=current, attempted=attempted))
        self.current = current
        self.attempted = attempted


class NotConsecutive(_LogRule):
    """An appended index must follow the last one."""

    sentence = "append at index {attempted}: the next index is {current}"


class LogIdBackwards(_LogRule):
    """A log id must not be lower than the last one."""

    sentence = "log id {attempted} is lower than the last log id {current}"


class LogIdUnknown(_LogRule):
    """A log id names an entry of another epoch than the one in the log."""

    sentence = "log id {attempted} is not in the log: the entry at that index is {current}"


class TruncateBelowPurged(_LogRule):
    """Purged entries cannot be cut."""

    sentence = "truncate at index {attempted}: everything up to {current} is purged"


class TruncateAboveLast(_LogRule):
    """There is nothing to cut above the end."""

    sentence = "truncate at index {attempted}: the last log id is {current}"


class CommitBackwards(_LogRule):
    """What is committed stays committed."""

    sentence = "commit {attempted}: {current} is committed already"


class CommitAboveLast(_LogRule):
    """Only entries in the log can be committed."""

    sentence = "commit {attempted}: the last log id is {current}"


class VoteBackwards(_LogRule):
    """A vote must not be lower than the one before."""

    sentence = "vote {attempted} is lower than the vote {current}"


class ReadBelowPurged(_LogRule):
    """Purged entries cannot be read."""

    sentence = "read from index {attempted}: everything up to {current} is purged"


class EntryTooLarge(_LogRule):
    """An entry, or the user data, is larger than a frame may be."""

    sentence = "{attempted} bytes are too many for one record: the limit is {current}"


class NewerLog(Rejected):
    """The directory was written by a newer release."""

    def __init__(self, file: str, found: int, known: int) -> None:
        super().__init__(f"{file} has format version {found}, this release knows up to {known}: use a newer release")
        self.file = file
        self.found = found
        self.known = known


class Overloaded(Unavailable):
    """More waits to be written than the queue may hold."""

    def __init__(self, waiting_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"{waiting_bytes} bytes wait to be written, the limit is {limit_bytes}: flush, then try again")
        self.waiting_bytes = waiting_bytes
        self.limit_bytes = limit_bytes


class WalFailed(Stopped):
    """A write or an fsync failed: the log has stopped for good, and nothing later is acknowledged."""

    def __init__(self, path: str, cause: BaseException) -> None:
        super().__init__(f"the write-ahead log in {path} stopped, reopen it: {cause}")
        self.path = path
        self.cause = cause


class WalClosed(Stopped):
    """The log was closed."""

    def __init__(self, path: str) -> None:
        super().__init__(f"the write-ahead log in {path} is closed")
        self.path = path


class ChunkGap(Corrupt):
    """A chunk between two others is missing."""

    def __init__(self, before: str, after: str, missing: int) -> None:
        super().__init__(f"gap between chunks {before} and {after}: cannot open, chunk {missing} is missing")
        self.before = before
        self.after = after
        self.missing = missing


class EntriesMissing(Corrupt):
    """Entries that the state counts on are in no chunk."""

    def __init__(self, start: int, end: int, first_chunk: str) -> None:
        super().__init__(
            f"entries {start} to {end - 1} are in no chunk: chunks before {first_chunk} are missing, cannot open"
        )
        self.start = start
        self.end = end


class DamagedLog(Corrupt):
    """Acknowledged bytes are not what was written."""

    def __init__(self, file: str, position: int, expected: str, found: str) -> None:
        super().__init__(f"{file} is damaged at byte {position}: expected {expected}, found {found}")
        self.file = file
        self.position = position
        self.expected = expected
        self.found = found
