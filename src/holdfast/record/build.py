"""Build batches from records given as Python values, and put the header before records encoded elsewhere."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from crc32c import crc32c

from holdfast.errors import Rejected
from holdfast.record.batch import BatchHeader
from holdfast.record.codec import compress
from holdfast.record.errors import InvalidRecord
from holdfast.record.layout import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL,
    CRC_AT,
    HEADER,
    HEADER_SIZE,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC,
    NO_PRODUCER,
    TRANSACTIONAL,
    Codec,
    TimestampType,
)
from holdfast.record.records import Record
from holdfast.record.varint import write_number


class NoRecords(Rejected):
    """A batch is to be built from nothing."""

    def __init__(self) -> None:
        super().__init__("a batch needs at least one record")


class Envelope(NamedTuple):
    """All of a batch but its records."""

    base_offset: int = 0
    leader_epoch: int = -1
    attributes: int = 0
    producer_id: int = NO_PRODUCER
    producer_epoch: int = -1
    base_sequence: int = -1

    @staticmethod
    def of(header: BatchHeader) -> Envelope:
        """The envelope of a batch that exists, to put other records into."""
        return Envelope(
            header.base_offset,
            header.leader_epoch,
            header.attributes,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
        )


class Extent(NamedTuple):
    """What the header says about the records as a whole."""

    record_count: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int


def attributes_of(
    codec: int = Codec.NONE,
    timestamp_type: int = TimestampType.CREATE,
    *,
    transactional: bool = False,
    control: bool = False,
) -> int:
    """The attribute bits of a batch."""
    log_append_time = timestamp_type == TimestampType.LOG_APPEND
    return codec | log_append_time * LOG_APPEND_TIME | transactional * TRANSACTIONAL | control * CONTROL


def build(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    codec: int = Codec.NONE,
    timestamp_type: int = TimestampType.CREATE,
    transactional: bool = False,
    control: bool = False,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytearray:
    """One batch, ready to be stamped. Offsets must grow; records without one follow their predecessor."""
    attributes = attributes_of(codec, timestamp_type, transactional=transactional, control=control)
    envelope = Envelope(base_offset, leader_epoch, attributes, producer_id, producer_epoch, base_sequence)
    rows = list(records)
    if not rows:
        raise NoRecords
    base_timestamp = rows[0].timestamp
    room = bytearray(HEADER_SIZE)
    delta = -1
    for index, record in enumerate(rows):
        previous = delta
        delta = previous + 1 if record.offset is None else record.offset - base_offset
        if delta <= previous:
            raise InvalidRecord(base_offset, index, len(room) - HEADER_SIZE, f"offset {record.offset} does not grow")
        _write_record(room, record, record.timestamp - base_timestamp, delta)
    extent = Extent(len(rows), delta, base_timestamp, max(record.timestamp for record in rows))
    return seal(room, extent, envelope)


def seal(room: bytearray, extent: Extent, envelope: Envelope) -> bytearray:
    """Make a batch of encoded records, before which there is room for the header; uncompressed, in the same memory."""
    codec = envelope.attributes & CODEC_MASK
    batch = room if codec == Codec.NONE else _packed(codec, room, extent.record_count)
    HEADER.pack_into(
        batch,
        0,
        envelope.base_offset,
        len(batch) - LENGTH_END,
        envelope.leader_epoch,
        MAGIC,
        0,  # The crc covers what follows it, and comes last.
        envelope.attributes,
        extent.last_offset_delta,
        extent.base_timestamp,
        extent.max_timestamp,
        envelope.producer_id,
        envelope.producer_epoch,
        envelope.base_sequence,
        extent.record_count,
    )
    struct.pack_into(">I", batch, CRC_AT, crc32c(memoryview(batch)[ATTRIBUTES_AT:]))
    return batch


def _packed(codec: int, room: bytearray, record_count: int) -> bytearray:
    packed = compress(codec, memoryview(room)[HEADER_SIZE:]) if record_count else b""
    batch = bytearray(HEADER_SIZE + len(packed))
    memoryview(batch)[HEADER_SIZE:] = packed
    return batch


def _write_record(target: bytearray, record: Record, timestamp_delta: int, offset_delta: int) -> None:
    body = bytearray(1)  # The attributes of a record: none are defined.
    write_number(body, timestamp_delta)
    write_number(body, offset_delta)
    _write_bytes(body, record.key)
    _write_bytes(body, record.value)
    write_number(body, len(record.headers))
    for key, value in record.headers:
        _write_bytes(body, key.encode())
        _write_bytes(body, value)
    write_number(target, len(body))
    target += body


def _write_bytes(target: bytearray, data: bytes | None) -> None:
    if data is None:
        write_number(target, -1)
        return
    write_number(target, len(data))
    target += data
