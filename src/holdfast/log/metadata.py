"""What the write-ahead log keeps besides its entries: whose it is, how far the store has come, what is in quarantine,
and which deletions are not done.

It is the log's user data, so that it is in the head of every chunk, and as durable as the entries:

    {"version":3,"cluster":…,"broker":…,"generation":…,
     "lives":[["<incarnation>","<place>"],…],
     "flushed":"<marks, in base64>",
     "deleted":"<topic ids, in base64>",
     "aside":{"<topic id>":{"<partition>":[<start>,<end>,"<file>"]}},
     "deletes_from":<index of an entry>,
     "undecided":{"<topic id>":[<partition>,…]},
     "unclean":true}

    marks       `log.flushed_marks`
    topic ids   16 bytes each

Version 1 had neither `flushed` nor `aside`, version 2 neither `deleted` nor `lives`, and its `flushed` in the form of
`aside`. `flushed` is saved before entries are purged: a store whose manifest is below it has lost what the purged
entries held, which nothing else could tell of a partition without a tail. `deleted` is saved at the same time, so that
the entries which say that a topic is deleted need not stay until nothing of it is left. `lives` are the processes that
have last had this log: their claims in the store are ours (`log.ownership.owner`).

The two before the last say what can be told of the entries while the store is away (`log.recovery.tails`). Releases
that do not know them drop them, and so nothing is told then. From the entry `deletes_from` on the log says which
records were deleted. `undecided` are the partitions in which a transaction may have been open when entries were purged
last; without it these are all.

`unclean` is there from the first open after an unclean stop to the first that goes on with the store: a process that
found the store away, and was stopped cleanly, has not made the stop before it a clean one.

It cannot outgrow its record: every table has a limit, and all of them at their limits fit into what the write-ahead log
takes.
"""

from __future__ import annotations

import itertools
import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import UUID

from holdfast.errors import Corrupt
from holdfast.log.errors import TooManyPartitions, TooMuchToKeep
from holdfast.log.flushed_marks import MARK_SIZE_MAX, FlushedMarks, decode_marks
from holdfast.types import PartitionId
from holdfast.wal import USER_DATA_SIZE_MAX, NewerLog
from holdfast.wal.state import WalState

VERSION = 3

MARKS_MAX = 200_000  # Partitions; each is a topic of its own at worst.
DELETED_MAX = 100_000  # Topics whose deletion is not done.
QUARANTINED_MAX = 10_000  # Partitions.
UNDECIDED_MAX = 10_000  # Partitions; each is a topic of its own at worst.

_QUARANTINED_SIZE_MAX = 320  # Of one, as JSON: an id, four numbers, and the name of a file.
_UNDECIDED_SIZE_MAX = 64  # Of one, as JSON.
_FIXED_SIZE_MAX = 64 << 10  # Everything that is no table.
assert (
    (MARKS_MAX * MARK_SIZE_MAX + DELETED_MAX * 16) * 4 // 3
    + QUARANTINED_MAX * _QUARANTINED_SIZE_MAX
    + UNDECIDED_MAX * _UNDECIDED_SIZE_MAX
    + _FIXED_SIZE_MAX
    < USER_DATA_SIZE_MAX
)
LIVES_MAX = 8  # Those before are long over: whatever they had under way has arrived.

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose write-ahead log this is."""

    cluster: str
    broker: str
    generation: int  # Rises with every unclean open; leader epochs follow it.


class QuarantinedTail(NamedTuple):
    """Records of one partition that left the write-ahead log for a file in quarantine."""

    start: int
    end: int
    file: str


class Life(NamedTuple):
    """One process that had this write-ahead log, and where the log was then."""

    incarnation: str
    place: str


@dataclass(frozen=True, slots=True)
class LogMetadata:
    """The user data of a write-ahead log."""

    identity: Identity
    flushed: Mapping[PartitionId, int] = field(default_factory=dict)  # Below this the store had everything.
    quarantined: Mapping[PartitionId, QuarantinedTail] = field(default_factory=dict)
    deleted: frozenset[UUID] = frozenset()  # Topics that are deleted, and of which something may be left.
    lives: tuple[Life, ...] = ()  # The newest last.
    deletes_from: int | None = None  # From this entry on the log says which records are deleted.
    undecided: frozenset[PartitionId] | None = None  # Where a transaction may have been open at the last purge.
    unclean: bool = False  # The last process that went on with the store did not close the log.

    def encode(self) -> bytes:
        identity = self.identity
        body: dict[str, Any] = {
            "version": VERSION,
            "cluster": identity.cluster,
            "broker": identity.broker,
            "generation": identity.generation,
            "lives": self.lives,
            "flushed": FlushedMarks.of(self.flushed).encode(),
            "deleted": b64encode(b"".join(sorted(each.bytes for each in self.deleted))).decode(),
            "aside": _by_topic(self.quarantined),
        }
        if self.deletes_from is not None:
            body["deletes_from"] = self.deletes_from
        if self.undecided is not None:
            by_topic: dict[str, list[int]] = {}
            for topic_id, partition in sorted(self.undecided):
                by_topic.setdefault(topic_id.hex, []).append(partition)
            body["undecided"] = by_topic
        if self.unclean:
            body["unclean"] = True
        return json.dumps(body, separators=(",", ":")).encode()

    def of_generation(self, generation: int) -> LogMetadata:
        return replace(self, identity=replace(self.identity, generation=generation))


def decode(data: bytes) -> LogMetadata:
    try:
        body = json.loads(data)
        version = int(body["version"])
        if version <= VERSION:
            identity = Identity(str(body["cluster"]), str(body["broker"]), int(body["generation"]))
            quarantined = {home: QuarantinedTail(*row) for home, row in _by_home(body.get("aside", {})).items()}
            if version < VERSION:
                flushed = {home: int(offset) for home, offset in _by_home(body.get("flushed", {})).items()}
                return LogMetadata(identity, flushed, quarantined)
            lives = tuple(Life(*map(str, row)) for row in body.get("lives", ()))
            return LogMetadata(
                identity,
                decode_marks(body["flushed"]),
                quarantined,
                _decode_deleted(body["deleted"]),
                lives,
                body.get("deletes_from"),
                _decode_undecided(body.get("undecided")),
                bool(body.get("unclean", False)),
            )
    except (ValueError, TypeError, KeyError, AttributeError, struct.error) as failure:
        raise Corrupt(f"the write-ahead log does not say whose it is: {failure!r}") from failure
    raise NewerLog("the write-ahead log's user data", version, VERSION)


class KeepingLog(Protocol):
    """A log that keeps something besides its entries."""

    @property
    def state(self) -> WalState: ...

    def save_user_data(self, data: bytes) -> object: ...

    def sync(self) -> None: ...


def read_kept(wal: KeepingLog) -> LogMetadata | None:
    """None when the log is new."""
    return decode(wal.state.user_data) if wal.state.user_data else None


def save_kept(wal: KeepingLog, kept: LogMetadata) -> LogMetadata:
    """Blocks until it is durable."""
    wal.save_user_data(kept.encode())
    wal.sync()
    return kept


def check_marks(count: int, wal_size_max: int) -> None:
    """Raise if so many partitions are too many: their marks would not fit into the log, or be most of it."""
    limit = min(MARKS_MAX, wal_size_max // 512)
    if count > limit:
        raise TooManyPartitions(count, limit)


def at_most(marks: FlushedMarks, count: int) -> FlushedMarks:
    """So many of the marks. Without its mark nothing is lost of a partition: only a store that was set back is not
    noticed. That is better than a log that can be purged no more."""
    return marks if len(marks) <= count else FlushedMarks.of(dict(itertools.islice(marks.items(), count)))


def check_deleted(deleted: Collection[object]) -> None:
    """Raise if no further deletion can be remembered before another one is done."""
    if len(deleted) >= DELETED_MAX:
        raise TooMuchToKeep("deletions that are not done", DELETED_MAX)


def check_quarantined(quarantined: Mapping[PartitionId, QuarantinedTail], home: PartitionId) -> None:
    """Raise if no further partition can go to quarantine."""
    if home not in quarantined and len(quarantined) >= QUARANTINED_MAX:
        raise TooMuchToKeep("partitions in quarantine", QUARANTINED_MAX)


def _decode_deleted(text: str) -> frozenset[UUID]:
    return frozenset(UUID(bytes=raw) for (raw,) in struct.iter_unpack("<16s", b64decode(text, validate=True)))


def _decode_undecided(found: Mapping[str, list[int]] | None) -> frozenset[PartitionId] | None:
    if found is None:
        return None
    return frozenset(PartitionId(UUID(hex=raw), number) for raw, numbers in found.items() for number in numbers)


def _by_topic(values: Mapping[PartitionId, T]) -> dict[str, dict[str, T]]:
    found: dict[str, dict[str, T]] = {}
    for home, value in values.items():
        found.setdefault(home.topic_id.hex, {})[str(home.partition)] = value
    return found


def _by_home(values: Mapping[str, Mapping[str, Any]]) -> dict[PartitionId, Any]:
    return {
        PartitionId(UUID(hex=topic_id), int(partition)): value
        for topic_id, partitions in values.items()
        for partition, value in partitions.items()
    }
