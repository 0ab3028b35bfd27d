"""One batch as bytes: read its header, check it, stamp it. Never looks into the records."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, cast

from crc32c import crc32c

from holdfast.native import kernels
from holdfast.record.errors import (
    ControlRefused,
    InvalidBatch,
    LogAppendTimeRefused,
    TooLarge,
    Truncated,
    UnknownCodec,
    WrongCount,
    WrongCrc,
    WrongMagic,
    WrongSize,
)
from holdfast.record.layout import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL,
    CRC_AT,
    HEADER,
    HEADER_SIZE,
    LEADER_EPOCH_AT,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC,
    MAGIC_AT,
    MAX_TIMESTAMP_AT,
    SEQUENCE_MASK,
    TRANSACTIONAL,
    Codec,
)
from holdfast.types import Buffer

_CODEC_MAX = max(Codec)
_USUAL = frozenset(codec | kind for codec in Codec for kind in (0, TRANSACTIONAL))  # Attributes that break no rule.
_LENGTH_AND_CRC = struct.Struct(">8xi5xI")
assert _LENGTH_AND_CRC.size == ATTRIBUTES_AT
_pack_offset = struct.Struct(">q").pack_into
_pack_epoch = struct.Struct(">i").pack_into


class BatchHeader(NamedTuple):
    """The fixed part of a batch."""

    base_offset: int
    size: int  # The whole batch in bytes, with the 12 that the length field does not count.
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def end_offset(self) -> int:
        """The offset after the batch's last one."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        """A `Codec`, or a number nobody has defined: see `check`."""
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; -1 without an idempotent producer."""
        if self.base_sequence < 0:
            return self.base_sequence
        return (self.base_sequence + self.last_offset_delta) & SEQUENCE_MASK


_new_header = partial(tuple.__new__, BatchHeader)  # Half the time of the plain way, and there is one for each request.


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header of the batch that starts at `position`; the rest of the batch need not be there."""
    try:
        fields = HEADER.unpack_from(buffer, position)
    except struct.error:
        raise _explain_short(buffer, position) from None
    if fields[3] != MAGIC:
        raise WrongMagic(position, fields[3])
    if fields[1] < HEADER_SIZE - LENGTH_END:
        raise WrongSize(position, fields[1] + LENGTH_END, HEADER_SIZE)
    header: BatchHeader = _new_header((fields[0], fields[1] + LENGTH_END, *fields[2:]))
    return header


def _explain_short(buffer: Buffer, position: int) -> InvalidBatch:
    """A short batch of an older version is of an older version first: its magic stands in the same place."""
    found = len(buffer) - position
    if found > MAGIC_AT and buffer[position + MAGIC_AT] != MAGIC:
        return WrongMagic(position, buffer[position + MAGIC_AT])
    return Truncated(position, HEADER_SIZE, found)


def split(buffer: Buffer) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The batches that stand one after the other in a buffer, as views of it. The last one must be whole."""
    view = memoryview(buffer)
    position = 0
    while position < len(view):
        header = read_header(view, position)
        end = position + header.size
        if end > len(view):
            raise Truncated(position, header.size, len(view) - position)
        yield header, view[position:end]
        position = end


def check(batch: memoryview, size_max: int, *, from_client: bool = True) -> BatchHeader:
    """Hold one whole batch against every rule that needs no look into its records.

    What the broker itself stored may be a control batch, carry log-append time and, after compaction, hold fewer
    records than offsets, or none; a client's batch may not.
    """
    header = read_header(batch)
    _, size, _, _, crc, attributes, last_delta, _, _, _, _, _, count = header
    if size != len(batch):
        raise WrongSize(0, size, len(batch))
    if size > size_max:
        raise TooLarge(size, size_max)
    computed = crc32c(batch[ATTRIBUTES_AT:])
    if computed != crc:
        raise WrongCrc(header.base_offset, crc, computed)
    if from_client and 0 < count == last_delta + 1 and attributes in _USUAL:
        return header  # Without a call for each rule.
    check_fields(header)
    if from_client:
        _check_claims(header)
    return header


def check_crc(header: BatchHeader, batch: memoryview) -> None:
    """Are these the bytes that the sender summed up?"""
    computed = crc32c(batch[ATTRIBUTES_AT:])
    if computed != header.crc:
        raise WrongCrc(header.base_offset, header.crc, computed)


def is_crc_right(header: BatchHeader, batch: memoryview) -> bool:
    """The same as an answer."""
    return crc32c(batch[ATTRIBUTES_AT:]) == header.crc


def check_crcs(batches: memoryview) -> None:
    """The same for all batches of a buffer. There may be very many: this reads only what it needs of each."""
    position = 0
    while position < len(batches):
        if len(batches) - position < HEADER_SIZE:
            raise Truncated(position, HEADER_SIZE, len(batches) - position)
        length, crc = _LENGTH_AND_CRC.unpack_from(batches, position)
        end = position + length + LENGTH_END
        if length < HEADER_SIZE - LENGTH_END or end > len(batches):
            raise Truncated(position, length + LENGTH_END, len(batches) - position)
        computed = crc32c(batches[position + ATTRIBUTES_AT : end])
        if computed != crc:
            raise WrongCrc(read_header(batches, position).base_offset, crc, computed)
        position = end


def check_fields(header: BatchHeader) -> None:
    """The rules that hold for stored batches as well: a known codec, some offsets, and not more records than those."""
    if header.codec > _CODEC_MAX:
        raise UnknownCodec(header.codec)
    if header.last_offset_delta < 0 or not 0 <= header.record_count <= header.last_offset_delta + 1:
        raise WrongCount(header.record_count, header.last_offset_delta)


def _check_claims(header: BatchHeader) -> None:
    if header.record_count == 0 or header.record_count != header.last_offset_delta + 1:
        raise WrongCount(header.record_count, header.last_offset_delta)
    if header.is_control:
        raise ControlRefused(header.producer_id)
    if header.is_log_append_time:
        raise LogAppendTimeRefused


def stamp(batch: memoryview, base_offset: int, leader_epoch: int) -> None:
    """Give a batch its place in the log. In place: both numbers lie outside the crc."""
    _pack_offset(batch, 0, base_offset)
    _pack_epoch(batch, LEADER_EPOCH_AT, leader_epoch)


def place_in_python(
    batch: memoryview, header: BatchHeader, base_offset: int, leader_epoch: int, max_timestamp: int
) -> BatchHeader:
    """`stamp`, and the header that the batch has then."""
    stamp(batch, base_offset, leader_epoch)
    _, size, _, magic, crc, attributes, last, base_timestamp, _, *producer = header
    fixed = (base_offset, size, leader_epoch, magic, crc, attributes, last, base_timestamp, max_timestamp)
    placed: BatchHeader = _new_header((*fixed, *producer))
    return placed


place = place_in_python if kernels is None else cast("Callable[..., BatchHeader]", kernels.place)  # For every append.


def stamp_log_append_time(batch: memoryview, timestamp_ms: int) -> None:
    """Give all records of a batch the broker's time. In place; the base timestamp stays, readers ignore it."""
    (attributes,) = struct.unpack_from(">h", batch, ATTRIBUTES_AT)
    struct.pack_into(">h", batch, ATTRIBUTES_AT, attributes | LOG_APPEND_TIME)
    struct.pack_into(">q", batch, MAX_TIMESTAMP_AT, timestamp_ms)
    struct.pack_into(">I", batch, CRC_AT, crc32c(batch[ATTRIBUTES_AT:]))


def stamp_max_timestamp(batch: memoryview, timestamp_ms: int) -> None:
    """Put the largest timestamp of a batch's records right, where a client's header says something else. In place."""
    struct.pack_into(">q", batch, MAX_TIMESTAMP_AT, timestamp_ms)
    struct.pack_into(">I", batch, CRC_AT, crc32c(batch[ATTRIBUTES_AT:]))
