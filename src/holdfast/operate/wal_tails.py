"""The unflushed tails, read from the write-ahead log: without its lock, also while it is being written.

It is in files, or in the store (`read_round_tails`): then all that is acknowledged is seen without any machine.

Read it before the manifests. An entry leaves the write-ahead log only after the manifest that holds it is committed, so
a manifest that is loaded later begins nowhere behind the tail that was read earlier, however the log moves.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from holdfast.cluster.leads import Leads
from holdfast.errors import Corrupt
from holdfast.io.disk import Directory
from holdfast.io.objects import Objects
from holdfast.log import entry
from holdfast.log.metadata import LogMetadata, decode
from holdfast.log.rounds.layout import RoundEntry, entries_of, kept_of
from holdfast.log.rounds.seen import leads_in, look_at_rounds, may_be_needed
from holdfast.log.rounds.series import Series
from holdfast.operate.findings import WAL
from holdfast.record.batch import BatchHeader, is_crc_right, read_header, split
from holdfast.record.errors import InvalidBatch
from holdfast.segment.verify import Finding
from holdfast.types import Buffer, PartitionId
from holdfast.wal import Entry, NewerLog
from holdfast.wal.errors import ChunkGap, DamagedLog, EntriesMissing
from holdfast.wal.format.frame import Frame
from holdfast.wal.format.record import APPEND, decode_append
from holdfast.wal.read import EntryReader, Stored
from holdfast.wal.recovery.replay import Recovered, recover
from holdfast.wal.state import LogId

_LOOKS = 5
_SIZE_PER_READ = 1 << 20
_WIDTH = 2 + len(BatchHeader._fields)


class WalTailBatch(NamedTuple):
    """One batch of a tail."""

    entry: int  # Its index in the write-ahead log.
    crc_ok: bool
    header: BatchHeader


class TailRows:
    """The batches of one partition as plain numbers: a tail may have millions of them."""

    def __init__(self) -> None:
        self._numbers = array("q")

    def add(self, index: int, header: BatchHeader, *, crc_ok: bool) -> None:
        self._numbers.extend((index, crc_ok, *header))

    def above(self, flushed: int) -> Iterator[WalTailBatch]:
        """The batches that are in no segment yet."""
        for start in range(0, len(self._numbers), _WIDTH):
            index, crc_ok, *fields = self._numbers[start : start + _WIDTH]
            header = BatchHeader._make(fields)
            if header.end_offset > flushed:
                yield WalTailBatch(index, bool(crc_ok), header)


@dataclass
class WalTails:
    """What the write-ahead log holds."""

    cluster: str | None = None  # Whose it is; None when it does not say.
    rows: dict[PartitionId, TailRows] = field(default_factory=dict)
    deleted: set[UUID] = field(default_factory=set)  # Topics whose objects are being deleted.
    problems: list[Finding] = field(default_factory=list)

    def of(self, home: PartitionId) -> TailRows:
        return self.rows.get(home) or TailRows()


def read_tails(directory: Directory) -> WalTails:
    """All tails. A live log moves while one looks: what looks wrong is looked at again."""
    for look in range(_LOOKS):
        try:
            return _read(directory)
        except (DamagedLog, ChunkGap, EntriesMissing, FileNotFoundError):
            if look == _LOOKS - 1:
                raise
    raise AssertionError("unreachable")


def read_round_tails(objects: Objects) -> WalTails | None:
    """All tails of a write-ahead log that is in the store; None if there is none."""
    tails: WalTails | None = None
    index, leads = 0, leads_in(objects)
    for series, rounds in look_at_rounds(objects, Series.get):
        tails = tails or WalTails()
        for found in rounds:
            kept = _kept(kept_of(found) or b"")
            if kept is not None:
                tails.cluster, tails.deleted = kept.identity.cluster, tails.deleted | set(kept.deleted)
            for each in entries_of(found):
                if _is_needed(leads, series.id.life, each):
                    _add_one(tails, index, each.kind, each.home, each.content, series.name(found.header.number))
                    index += 1
    return tails


def _is_needed(leads: Leads, life: int, found: RoundEntry) -> bool:
    is_batch = found.kind == entry.BATCHES
    return not is_batch or may_be_needed(leads, life, found.home, read_header(found.content).leader_epoch)


def _add_one(tails: WalTails, index: int, kind: int, home: PartitionId, content: Buffer, name: str) -> None:
    try:
        _add_content(tails, index, kind, home, content)
    except (Corrupt, InvalidBatch) as failure:
        tails.problems.append(Finding(name, str(failure)))


def _read(directory: Directory) -> WalTails:
    recovered = recover(directory)
    kept = _kept(recovered.state.user_data)
    tails = WalTails(kept.identity.cluster if kept else None, deleted=set(kept.deleted if kept else ()))
    for found in _entries(directory, recovered):
        try:
            _add(tails, found)
        except (Corrupt, InvalidBatch) as failure:
            tails.problems.append(Finding(WAL, str(failure), found.log_id.index))
    return tails


def _kept(user_data: bytes) -> LogMetadata | None:
    try:
        return decode(user_data)
    except (Corrupt, NewerLog):
        return None


def _entries(directory: Directory, recovered: Recovered) -> Iterator[Entry]:
    """The proven entries chunk by chunk, then those of the last round."""
    state, index = recovered.state, recovered.index

    def peek(start: int, end: int) -> Stored | None:
        return Stored(*index.places_from(start, end, _SIZE_PER_READ)) if start < end else None

    for number, chunk in enumerate(index.chunks):
        following = index.chunks[number + 1 : number + 2]
        end = following[0].first_index if following else state.next_index
        try:
            yield from EntryReader(directory, peek, max(chunk.first_index, state.first_index), end).entries()
        except (DamagedLog, FileNotFoundError):
            if str(chunk.name) in directory.names():
                raise
            # Purged while we looked, so all its entries are in segments by now: no tail needs them.
    for frame in recovered.carried:
        yield from _entries_of(frame)


def _entries_of(frame: Frame) -> Iterator[Entry]:
    if frame.kind != APPEND:
        return
    appended = decode_append(frame.body)
    bounds = appended.payload_bounds()
    for number in range(appended.entry_count):
        log_id = LogId(appended.first.epoch, appended.first.index + number)
        yield Entry(log_id, frame.body[bounds[number] : bounds[number + 1]])


def _add(tails: WalTails, found: Entry) -> None:
    content = entry.decode(found.payload)
    _add_content(tails, found.log_id.index, content.kind, content.home, content.content)


def _add_content(tails: WalTails, index: int, kind: int, home: PartitionId, content: Buffer) -> None:
    if kind == entry.DELETE_TOPIC:
        tails.deleted.add(home.topic_id)
    elif kind == entry.BATCHES:
        rows = tails.rows.setdefault(home, TailRows())
        for header, batch in split(content):
            rows.add(index, header, crc_ok=is_crc_right(header, batch))
