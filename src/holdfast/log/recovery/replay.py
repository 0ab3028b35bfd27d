"""The tails that the write-ahead log brings back: entries sorted by partition, deleted topics left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from uuid import UUID

from holdfast.log import entry
from holdfast.log.errors import Diverged, StoreBehind
from holdfast.log.journal import EntryLog
from holdfast.log.partition.epochs import Epochs
from holdfast.log.partition.tail import MemoryUse, Tail
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.record.batch import split
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import PartitionId


@dataclass(slots=True)
class ReplayedTails:
    """What was in the write-ahead log."""

    tails: dict[PartitionId, Tail] = field(default_factory=dict)
    strays: dict[PartitionId, Tail] = field(default_factory=dict)  # Before a place where offsets do not go on.
    deleted: set[UUID] = field(default_factory=set)
    deleted_below: dict[PartitionId, int] = field(default_factory=dict)  # Somebody has deleted records below these.
    use: MemoryUse = field(default_factory=MemoryUse)


def replay(wal: EntryLog, memory_max: int, now: float, deleted: Iterable[UUID] = ()) -> ReplayedTails:
    """Sort all entries. Bytes above `memory_max` are not kept: they are read back when they are needed. Blocks.

    `deleted` are topics whose deletion is known from elsewhere: the entries that say so may be purged.
    """
    replayed = ReplayedTails(deleted=set(deleted))
    state = wal.state
    for found in wal.read(state.first_index, state.next_index):
        content = entry.decode(found.payload)
        if content.kind == entry.DELETE_TOPIC:
            replayed.deleted.add(content.home.topic_id)
        elif content.kind == entry.DELETE_RECORDS:
            below = entry.decode_offset(content.content)
            replayed.deleted_below[content.home] = max(below, replayed.deleted_below.get(content.home, 0))
        elif content.kind == entry.BATCHES:
            _add(replayed, content, found.log_id.index, memory_max, now)
    for found_tails in (replayed.tails, replayed.strays):
        for home in [home for home in found_tails if home.topic_id in replayed.deleted]:
            found_tails.pop(home).clear()
    return replayed


def _add(replayed: ReplayedTails, content: entry.WalEntry, index: int, memory_max: int, now: float) -> None:
    tail = replayed.tails.setdefault(content.home, Tail(replayed.use))
    start = 0
    for header, batch in split(content.content):
        data = memoryview(bytes(batch))  # A copy, so that no large read buffer is held for a small batch.
        if tail.end not in (None, header.base_offset):
            # Another leader had the partition in between. What we wrote before is ours only if it is in segments.
            replayed.strays.setdefault(content.home, Tail(replayed.use)).move_from(tail)
        tail.add(TailBatch(header, data, index, start, now))
        start += header.size
    if replayed.use.size - replayed.use.listed_size > memory_max:
        _spill(replayed, memory_max // 4)


def _spill(replayed: ReplayedTails, wanted: int) -> None:
    """The oldest bytes of the largest tails leave memory: all of them are durable."""
    for tail in sorted(replayed.tails.values(), key=lambda each: each.memory_size, reverse=True):
        wanted -= tail.spill(wanted, tail.end or 0)
        if wanted <= 0:
            return


def continue_at(tail: Tail, manifest: Manifest, stray: Tail | None = None, mark: int = 0) -> None:
    """Drop what is in segments already. What is left must go on exactly there.

    Below `mark` the store once had everything: it may not be behind that, unless the tail still has what is missing.
    """
    path, flushed = manifest.home.path, manifest.flushed
    for each in (stray, tail) if stray is not None else (tail,):
        _check_ours(each, manifest)
    stray_end = max((run.end for run in stray.runs), default=0) if stray is not None else 0
    if stray_end > flushed:
        raise Diverged(path, flushed, stray_end, manifest.epoch)
    first = next((each.base for each in tail.from_offset(flushed) if each.end > flushed), None)
    if first is not None and first > flushed:
        raise StoreBehind(path, flushed, first)
    end = max(tail.end or 0, flushed)
    if end < mark:
        raise StoreBehind(path, end, mark)
    tail.release(flushed)


def _check_ours(tail: Tail, manifest: Manifest) -> None:
    """Raise if another leader has written offsets that we have written, too: ours were acknowledged and are nowhere."""
    epochs = Epochs(manifest.epochs)
    suspect = (run.batches() for run in tail.runs if epochs.at(run.end - 1) > run.epoch_min)
    batches = chain(chain.from_iterable(suspect), tail.in_memory)
    diverged = [each for each in batches if each.end > manifest.log_start and epochs.at(each.base) > each.epoch]
    if diverged:
        raise Diverged(manifest.home.path, diverged[0].base, diverged[-1].end, manifest.epoch)
