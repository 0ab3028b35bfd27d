"""Batches of the tail held against what was acknowledged; where memory differs, the write-ahead log's copy is taken.

A batch's own crc covers all but its place (offset, epoch, length), which the tail knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import Corrupt, Rejected
from holdfast.log.context import LogContext
from holdfast.log.errors import WrongEverywhere
from holdfast.log.journal import Journal
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.log.recovery.quarantine import QuarantinedPart
from holdfast.record.batch import BatchHeader, check_crc, read_header
from holdfast.record.errors import InvalidBatch
from holdfast.types import Buffer, PartitionId


class Changed(Rejected):
    """Bytes are not those of the batch that was acknowledged. Never leaves this package."""


def check_same(batch: TailBatch, data: Buffer) -> BatchHeader:
    """The header of bytes that are those of the batch; raises where they are not."""
    header = read_header(data)
    if (header.base_offset, header.size, header.leader_epoch) != (batch.base, batch.size, batch.epoch):
        raise Changed(f"the batch at offset {batch.base} has another place")
    view = memoryview(data)
    if len(view) != batch.size:
        raise Changed(f"the batch at offset {batch.base} has another size")
    check_crc(header, view)
    return header


def is_same(batch: TailBatch, data: Buffer) -> bool:
    try:
        check_same(batch, data)
    except (InvalidBatch, Changed):
        return False
    return True


def read_sound(journal: Journal, batch: TailBatch) -> memoryview | None:
    """The write-ahead log's copy; None if that is not what was acknowledged either. Blocks."""
    try:
        (data,) = journal.read_back([(batch.index, batch.start, batch.size)])
    except Corrupt:
        return None
    return data if is_same(batch, data) else None


async def mend(
    ground: LogContext, home: PartitionId, batches: Sequence[TailBatch], data: Sequence[Buffer]
) -> list[Buffer]:
    """The bytes of these batches, those that have changed from the write-ahead log. Raises WrongEverywhere where its
    copy is wrong, too: nothing may be stored as if it were right."""
    mended = list(data)
    for number, batch in enumerate(batches):
        if await ground.calls.local(is_same, batch, data[number]):
            continue
        found = await ground.calls.local(read_sound, ground.journal, batch)
        if found is None:
            raise WrongEverywhere(home.path, batch.base, batch.end)
        mended[number] = found
        if batch.data is not None:
            batch.data = found  # Readers get the right bytes, too.
        ground.damage.note_mended(home.path, batch.base)
    return mended


def gather_raw(journal: Journal, lost: Sequence[TailBatch]) -> list[QuarantinedPart]:
    """What is in the place of batches of which no copy is sound: each frame once, and what memory has. Blocks."""
    frames: dict[tuple[str, int], QuarantinedPart] = {}
    pieces: list[QuarantinedPart] = []
    for batch in lost:
        span = batch.base, batch.end
        if batch.data is not None:
            pieces.append(QuarantinedPart([span], "memory", batch.data))
        raw = journal.read_raw(batch.index)
        place = raw.file, raw.offset
        frames.setdefault(place, QuarantinedPart([], f"{raw.file} from byte {raw.offset}", raw.data)).spans.append(span)
    return [*frames.values(), *pieces]


def gather_sound(journal: Journal, batches: Sequence[TailBatch]) -> tuple[list[memoryview], list[TailBatch]]:
    """What can be saved of these batches, from memory or from the write-ahead log, and those that cannot. Blocks."""
    sound: list[memoryview] = []
    lost: list[TailBatch] = []
    for batch in batches:
        held = batch.data
        data = held if held is not None and is_same(batch, held) else read_sound(journal, batch)
        if data is None:
            lost.append(batch)
        else:
            sound.append(data)
    return sound, lost
