"""The tails that the write-ahead log brings back: entries sorted by partition, deleted topics left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from holdfast.errors import Corrupt
from holdfast.log import entry
from holdfast.log.epochs import Epochs
from holdfast.log.errors import Diverged
from holdfast.log.tail import MemoryUse, Tail, TailBatch
from holdfast.record.batch import split
from holdfast.segment.manifest import Manifest
from holdfast.segment.names import PartitionId
from holdfast.wal import Wal


@dataclass(slots=True)
class Replayed:
    """What was in the write-ahead log."""

    tails: dict[PartitionId, Tail] = field(default_factory=dict)
    deleted: dict[UUID, int] = field(default_factory=dict)  # Topic id → index of the entry that says so.
    use: MemoryUse = field(default_factory=MemoryUse)


def replay(wal: Wal, memory_max: int, now_ms: int) -> Replayed:
    """Sort all entries. Bytes above `memory_max` are not kept: they are read back when they are needed. Blocks."""
    replayed = Replayed()
    state = wal.state
    for found in wal.read(state.first_index, state.next_index):
        content = entry.decode(found.payload)
        if content.kind == entry.DELETE_TOPIC:
            replayed.deleted[content.home.topic_id] = found.log_id.index
        elif content.kind == entry.BATCHES:
            _add(replayed, content, found.log_id.index, memory_max, now_ms)
    for home in [home for home in replayed.tails if home.topic_id in replayed.deleted]:
        replayed.tails.pop(home).clear()
    return replayed


def _add(replayed: Replayed, content: entry.WalEntry, index: int, memory_max: int, now_ms: int) -> None:
    tail = replayed.tails.setdefault(content.home, Tail(replayed.use))
    start = 0
    for header, batch in split(content.content):
        data = None
        if replayed.use.size < memory_max:
            data = memoryview(bytes(batch))  # A copy, so that no large read buffer is held for a small batch.
        tail.add(TailBatch(header, data, index, start, now_ms))
        start += header.size


def continue_at(tail: Tail, manifest: Manifest) -> None:
    """Drop what is in segments already. What is left must go on exactly there."""
    path, flushed = manifest.home.path, manifest.flushed
    _check_ours(tail, manifest)
    tail.release(flushed)
    first = tail.first
    if first is not None and first.base != flushed:
        raise Corrupt(
            f"partition {path}: offsets [{flushed}, {first.base}) are neither in the store nor in the write-ahead log: "
            "the store is older than the log's purge point"
        )


def _check_ours(tail: Tail, manifest: Manifest) -> None:
    """Raise if another leader has written offsets that we have written, too: ours were acknowledged and are nowhere."""
    epochs = Epochs(manifest.epochs)
    diverged = [each for each in tail if each.end > manifest.log_start and epochs.at(each.base) > each.epoch]
    if diverged:
        raise Diverged(manifest.home.path, diverged[0].base, diverged[-1].end, manifest.epoch)
