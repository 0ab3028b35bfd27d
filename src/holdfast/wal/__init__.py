"""A write-ahead log of Raft grade: durable entries in order, and back after a crash.

A library of its own: it knows nothing of Kafka. See docs/guides/wal-library.md for its use.
"""

from holdfast.wal.commit.round import Flush
from holdfast.wal.errors import (
    ChunkGap,
    CommitAboveLast,
    CommitBackwards,
    DamagedLog,
    EntriesMissing,
    EntryTooLarge,
    LogIdBackwards,
    LogIdUnknown,
    NewerLog,
    NotConsecutive,
    Overloaded,
    ReadBelowPurged,
    TruncateAboveLast,
    TruncateBelowPurged,
    VoteBackwards,
    WalClosed,
    WalFailed,
)
from holdfast.wal.log import Wal
from holdfast.wal.read import Entry, EntryBlock
from holdfast.wal.settings import USER_DATA_SIZE_MAX, WalSettings
from holdfast.wal.stat import OpenReport, Stat
from holdfast.wal.state import LogId, Vote, WalState

__all__ = [
    "USER_DATA_SIZE_MAX",
    "ChunkGap",
    "CommitAboveLast",
    "CommitBackwards",
    "DamagedLog",
    "EntriesMissing",
    "Entry",
    "EntryBlock",
    "EntryTooLarge",
    "Flush",
    "LogId",
    "LogIdBackwards",
    "LogIdUnknown",
    "NewerLog",
    "NotConsecutive",
    "OpenReport",
    "Overloaded",
    "ReadBelowPurged",
    "Stat",
    "TruncateAboveLast",
    "TruncateBelowPurged",
    "Vote",
    "VoteBackwards",
    "Wal",
    "WalClosed",
    "WalFailed",
    "WalSettings",
    "WalState",
]
