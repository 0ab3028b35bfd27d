"""What one internal partition of transactions holds: the last record of each transactional id counts."""

from __future__ import annotations

import logging

from holdfast.coordinator.transaction.records import decode_transaction, decode_transactional_id
from holdfast.coordinator.transaction.transaction import Transaction
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.batch import split
from holdfast.record.errors import stored
from holdfast.record.records import read_records

log = logging.getLogger(__name__)

_READ_SIZE_MAX = 1 << 20  # Bytes at a time, so that others get their turn.


async def load(partition: PartitionLog, place: str) -> list[Transaction]:
    """Read a whole internal partition."""
    newest: dict[str, bytes] = {}
    offset = partition.marks.log_start
    while True:
        found = await partition.read(offset, None, _READ_SIZE_MAX)
        await partition.ground.calls.local(_note, newest, found.buffers, place)
        if found.end_reached:
            break
        offset = found.next_offset
    with stored(place):
        return [decode_transaction(transactional_id, value) for transactional_id, value in newest.items()]


def _note(newest: dict[str, bytes], buffers: list[memoryview], place: str) -> None:
    with stored(place):
        for buffer in buffers:
            for header, batch in split(buffer):
                for record in () if header.is_control else read_records(batch):
                    transactional_id = decode_transactional_id(record.key)
                    if transactional_id is None:
                        log.warning("%s: the record at %s is not understood, and skipped", place, record.offset)
                    elif record.value is None:
                        newest.pop(transactional_id, None)
                    else:
                        newest[transactional_id] = record.value
