"""Replay of one internal partition: its records from the first to the last, of which the last of each key counts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from holdfast.log.partition.partition import PartitionLog
from holdfast.record.batch import BatchHeader, split
from holdfast.record.errors import stored
from holdfast.record.records import read_records

log = logging.getLogger(__name__)

_READ_SIZE_MAX = 1 << 20  # Bytes at a time, so that others get their turn.

Key = TypeVar("Key", bound=Hashable)


async def replay(partition: PartitionLog, place: str, apply: Callable[[BatchHeader, memoryview], None]) -> None:
    """Apply every batch but control batches, in a thread. `place` is named when one cannot be read."""
    offset = partition.marks.log_start
    while True:
        found = await partition.read(offset, None, _READ_SIZE_MAX)
        await partition.ground.calls.local(_apply, place, found.buffers, apply)
        if found.end_reached:
            return
        offset = found.next_offset


def _apply(place: str, buffers: Sequence[memoryview], apply: Callable[[BatchHeader, memoryview], None]) -> None:
    with stored(place):
        for buffer in buffers:
            for header, batch in split(buffer):
                if not header.is_control:
                    apply(header, batch)


async def newest_values(
    partition: PartitionLog,
    place: str,
    decode_key: Callable[[bytes | None], Key | None],
    is_ours: Callable[[bytes | None], bool] = lambda _: True,
) -> dict[Key, bytes]:
    """The last value of each key; what a tombstone took back is not in it, and a key nobody understands is said."""
    newest: dict[Key, bytes] = {}

    def apply(_: BatchHeader, batch: memoryview) -> None:
        for record in read_records(batch):
            if not is_ours(record.key):
                continue
            key = decode_key(record.key)
            if key is None:
                log.warning("%s: the record at %s is not understood, and skipped", place, record.offset)
            elif record.value is None:
                newest.pop(key, None)
            else:
                newest[key] = record.value

    await replay(partition, place, apply)
    return newest
