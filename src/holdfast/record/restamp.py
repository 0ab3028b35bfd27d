"""Say who wrote a batch, after it was built: for batches that are encoded in one place and sent from another.

The producer's fields and the transactional flag lie inside the crc, so it is computed again; the records are read for
that, but not copied: the result is a new header and a view of the old records.
"""

from __future__ import annotations

import struct

from crc32c import crc32c

from holdfast.record.batch import read_header
from holdfast.record.layout import ATTRIBUTES_AT, CRC_AT, HEADER, HEADER_SIZE, LENGTH_END, TRANSACTIONAL
from holdfast.types import Buffer


def restamp(
    batch: memoryview, producer_id: int, producer_epoch: int, base_sequence: int, *, transactional: bool
) -> tuple[bytearray, memoryview]:
    """The batch as this producer's: its new header, and its records as they are. It starts at offset 0, as sent."""
    old = read_header(batch)
    attributes = old.attributes | TRANSACTIONAL if transactional else old.attributes & ~TRANSACTIONAL
    head = bytearray(HEADER_SIZE)
    fields = (old.size - LENGTH_END, -1, old.magic, 0, attributes, *old[6:9])
    HEADER.pack_into(head, 0, 0, *fields, producer_id, producer_epoch, base_sequence, old.record_count)
    records = batch[HEADER_SIZE : old.size]
    struct.pack_into(">I", head, CRC_AT, crc32c(records, crc32c(memoryview(head)[ATTRIBUTES_AT:])))
    return head, records


def joined(head: Buffer, records: Buffer) -> bytes:
    """Both pieces as one batch, where one buffer is needed."""
    return b"".join((head, records))
