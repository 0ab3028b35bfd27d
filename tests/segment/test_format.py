"""One segment: what is written is what is read, and no damage goes unseen."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from crc32c import crc32c

from holdfast.errors import Corrupt, Rejected
from holdfast.segment.errors import Damaged, NewerFormat
from holdfast.segment.format import FOOTER_SIZE, HEADER_SIZE, VERSION
from holdfast.segment.index import check_is, decode_tail
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.producers import ProducerBatch, ProducerState
from holdfast.segment.verify import verify
from holdfast.segment.writer import INTERVAL_SIZE, NotTiled, encode_segment

PRODUCERS = {5: ProducerState(5, 2, (ProducerBatch(0, 9, 100, 1000),), transaction_start=104, last_timestamp=1000)}
ABORTED = (Aborted(5, 90, 103, 104), Aborted(6, 101, 105, 106))


@pytest.fixture
def encode(home):
    def encode_it(batches, **options):
        buffers, info = encode_segment(batches, home=home, epoch=3, tag="0123456789abcdef", **options)
        return b"".join(buffers), info

    return encode_it


def test_a_segment_is_opened_from_its_tail_alone(encode, make_batch):
    """L2: counts, range, times, producers and aborted transactions come back from the last bytes."""
    data, info = encode([make_batch(100, 4), make_batch(104, 2)], producers=PRODUCERS, aborted=ABORTED)
    assert len(data) == info.size
    segment = decode_tail(info.name, data[-info.tail_size :], info.size)
    check_is(segment, info)
    assert segment.producers() == PRODUCERS
    assert segment.aborted == ABORTED
    assert (info.base, info.end, info.record_count) == (100, 106, 6)
    assert (info.min_timestamp, info.max_timestamp) == (1000, 1003)
    assert info.name == f"segments/{0xABC:032x}/7/{100:020}-{106:020}-3-0123456789abcdef.seg"


def test_batches_are_stored_as_sent_and_not_copied(make_batch, home):
    """L2: the buffers handed in are the buffers handed on, between header and index."""
    batches = [make_batch(0, 3), memoryview(make_batch(3, 1) + make_batch(4, 2))]
    buffers, info = encode_segment(batches, home=home, epoch=0, tag="t")
    assert buffers[1] is batches[0]
    assert buffers[2] is batches[1]
    assert info.end == 6
    data = b"".join(buffers)
    assert data[HEADER_SIZE : info.size - info.tail_size] == b"".join(batches)


def test_the_index_has_an_entry_for_about_each_interval(encode, make_batch):
    """L5: intervals are whole batches of about 64 KiB; a larger batch has its own; times only grow."""
    sizes = [1000] * 200 + [300_000] + [1000] * 10
    batches = [make_batch(number, size=size, timestamp=5000 - number) for number, size in enumerate(sizes)]
    data, info = encode(batches)
    segment = verify(info.name, data)
    intervals = [segment.interval(number) for number in range(len(segment.index))]
    assert 5 <= len(intervals) <= 7
    assert intervals[0].start == HEADER_SIZE
    assert all(a.end == b.start for a, b in pairwise(intervals))
    assert sum(each.end - each.start > INTERVAL_SIZE for each in intervals) == 1
    assert sorted(segment.index["max_timestamp"]) == list(segment.index["max_timestamp"])
    assert segment.interval_of_offset(0) == 0
    assert segment.interval_of_offset(info.end - 1) == len(intervals) - 1


def test_batches_that_do_not_tile_are_refused(encode, make_batch):
    """L2: a hole, an overlap or a wrong declared end is refused unless the segment is compacted."""
    with pytest.raises(NotTiled):
        encode([make_batch(0, 2), make_batch(3, 1)])
    with pytest.raises(NotTiled):
        encode([make_batch(0, 2), make_batch(1, 1)], compacted=True)
    with pytest.raises(NotTiled):
        encode([make_batch(0, 2)], end=3)
    with pytest.raises(NotTiled):
        encode([make_batch(1, 2)], start=0)
    with pytest.raises(Rejected):
        encode([])


def test_a_compacted_segment_stands_for_offsets_it_lacks(encode, make_batch):
    """L2: holes at the start, between batches and at the end; also with no batch left at all."""
    data, info = encode([make_batch(3, 1), make_batch(7, 1)], start=0, end=10, compacted=True)
    verify(info.name, data)
    assert (info.base, info.end, info.record_count, info.compacted) == (0, 10, 2, True)
    data, info = encode([], start=0, end=10, compacted=True)
    assert verify(info.name, data).info() == info


def test_every_flipped_bit_is_found(encode, make_batch):
    """L2: no single damaged byte of header, batches, index, snapshots or footer goes unseen."""
    data, info = encode([make_batch(0, 4), make_batch(4, 2)], producers=PRODUCERS, aborted=ABORTED)
    verify(info.name, data)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        with pytest.raises(Corrupt):
            verify(info.name, damaged)


def test_a_cut_segment_is_found(encode, make_batch):
    """L2: every shorter length is refused, at open already."""
    data, info = encode([make_batch(0, 4)])
    for size in range(len(data)):
        with pytest.raises(Corrupt):
            decode_tail(info.name, data[:size], size)


def test_a_newer_format_is_refused_not_misread(encode, make_batch):
    """O5: a footer with a later version and a right crc says so; also when it is longer than ours."""
    data, info = encode([make_batch(0, 4)])
    longer = data[-FOOTER_SIZE:-12] + bytes(8) + struct.pack("<HH4s", VERSION + 1, FOOTER_SIZE + 8, b"HFSE")
    tail = longer + struct.pack("<I", crc32c(longer))
    with pytest.raises(NewerFormat, match=f"version {VERSION + 1}; this release knows up to {VERSION}"):
        decode_tail(info.name, tail, info.size)


def test_another_segment_in_its_place_is_found(encode, make_batch):
    """L2: a whole and sound segment that is not the one the manifest lists is damage."""
    data, info = encode([make_batch(0, 4)])
    _, other = encode([make_batch(0, 5)])
    with pytest.raises(Damaged):
        check_is(decode_tail(other.name, data, info.size), other)
