"""The true bounds of timestamps: found when a segment is written, kept in the manifest, or said to be unknown."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
from crc32c import crc32c

from holdfast.record.build import build
from holdfast.record.layout import ATTRIBUTES_AT, CRC_AT, HEADER_SIZE, MAX_TIMESTAMP_AT, Codec, TimestampType
from holdfast.record.records import Record
from holdfast.segment.manifest.info import RecordTimes, SegmentInfo
from holdfast.segment.times import BATCH_COUNT_MAX, BATCH_EXPANDED_MAX, EXPANDED_MAX, SIZE_MIN, record_times
from holdfast.segment.writer import encode_segment
from holdfast.types import PartitionId

HOME = PartitionId(UUID(int=1), 0)


def batch(*timestamps, base_offset=0, **options):
    return bytes(build([Record(b"k", b"v", each) for each in timestamps], base_offset=base_offset, **options))


def changed(data, position, patch):
    """The same batch with other bytes in it, and a right crc."""
    made = bytearray(data)
    made[position : position + len(patch)] = patch
    struct.pack_into(">I", made, CRC_AT, crc32c(memoryview(made)[ATTRIBUTES_AT:]))
    return bytes(made)


def times(*batches, **options):
    return record_times(batches, len(batches), size_min=0, **options)


@pytest.mark.parametrize("codec", Codec)
def test_an_earlier_record_inside_a_batch_counts(codec):
    """P1: the bound is that of the records, whatever the header of their batch says."""
    grown = times(batch(5000, 5001, codec=codec), batch(7000, codec=codec))
    assert grown == RecordTimes(5000, by_batch=True, back_ms=0)
    early = times(batch(5000, codec=codec), batch(7000, 4000, 8000, codec=codec))
    assert early == RecordTimes(4000, by_batch=False, back_ms=1000)


def test_what_is_dear_waits_for_a_rewrite():
    """P1: what expands to very much, tiny batches and small segments are looked at when there is time for it."""
    bomb = bytes(build([Record(None, bytes(BATCH_EXPANDED_MAX), 5)], codec=Codec.ZSTD))
    assert times(bomb) is None
    assert times(bomb, thorough=True) == RecordTimes(5, by_batch=True, back_ms=0)
    large = bytes(build([Record(None, bytes(BATCH_EXPANDED_MAX // 2), 5)], codec=Codec.ZSTD))
    enough = 2 * EXPANDED_MAX // BATCH_EXPANDED_MAX
    assert times(*[large] * (enough - 1)) == RecordTimes(5, by_batch=True, back_ms=0)
    assert times(*[large] * enough) is None
    many = [batch(5)] * (BATCH_COUNT_MAX + 1)
    assert times(*many) is None
    assert times(*many, thorough=True) == RecordTimes(5, by_batch=True, back_ms=0)
    assert record_times([batch(5)], 1) is None
    large = bytes(build([Record(None, bytes(SIZE_MIN), 5)]))
    assert record_times([large], 1) == RecordTimes(5, by_batch=True, back_ms=0)


def test_headers_that_lie_and_records_that_are_none():
    """P1: where a header says less than the truth, or records cannot be read, nothing is known."""
    lying = changed(batch(5000, 9000), MAX_TIMESTAMP_AT, struct.pack(">q", 8999))
    assert times(lying) is None
    assert times(changed(batch(5000, 5001), HEADER_SIZE, b"\x7f")) is None
    assert times(changed(batch(5000, codec=Codec.LZ4), HEADER_SIZE, bytes(8))) is None
    far = [Record(None, b"", 0), Record(None, b"", 2**62)]
    assert times(bytes(build(far))) is None


def test_log_append_time_is_one_time_for_all():
    """P1: in a batch with the broker's time the producers' times do not count."""
    made = batch(5000, 1000, 9000, timestamp_type=TimestampType.LOG_APPEND)
    assert times(made) == RecordTimes(9000, by_batch=True, back_ms=0)


def test_how_far_times_go_back():
    """P1: a record may be earlier than batches before its own by so much at most, those without records included."""
    assert times(batch(10), batch(30, 31), batch(20, 40), batch(35)).back_ms == 11
    assert times(batch(10), batch(10), batch(11, 10)).back_ms == 0  # Within a batch its own header tells.
    assert times(batch(-500, -400), batch(-450)).back_ms == 449  # A segment's index knows nothing below -1.
    assert record_times([batch(10), batch(5)], 3, size_min=0).back_ms is None  # One without records is not among them.
    late = changed(batch(5, 6), MAX_TIMESTAMP_AT, struct.pack(">q", 2**62))
    assert times(late, batch(7)).back_ms is None
    assert times(batch(10), batch(-(2**63))) is None  # The difference is no number of 64 bits.


def test_the_manifest_keeps_it():
    """O5: rows with the bounds, with and without aborted transactions, and rows that were written before there were."""
    _, info = encode_segment([batch(5, 4)], home=HOME, epoch=1, tag="t", times_size_min=0)
    row = info.to_row()
    assert row[-2:] == [[], [4, 0, 0]]
    assert SegmentInfo.from_row(row, HOME.segments).times == RecordTimes(4, by_batch=False, back_ms=0)
    first = SegmentInfo.from_row([*row[:-1], [4, 0]], HOME.segments)
    assert first.times == RecordTimes(4, by_batch=False, back_ms=None)
    assert first.to_row()[-1] == [4, 0]
    old = SegmentInfo.from_row(row[:9], HOME.segments)
    assert old.times is None
    assert old == info
    _, plain = encode_segment([batch(5, 4)], home=HOME, epoch=1, tag="t")
    assert (plain.times, len(plain.to_row())) == (None, 9)
