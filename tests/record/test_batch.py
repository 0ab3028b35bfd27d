"""K2, K7: headers are read as they are, every broken rule is its own error, stamps go where they belong."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatch
from tests.record.oracle import kafka_build, kafka_read
from tests.record.samples import NOW, SAMPLES

from holdfast.errors import Corrupt, Rejected
from holdfast.record import batch as batches
from holdfast.record import errors
from holdfast.record.batch import check, read_header, split, stamp, stamp_log_append_time
from holdfast.record.build import build
from holdfast.record.layout import HEADER, Codec
from holdfast.record.records import Record

SIZE_MAX = 1 << 20


def changed(where: str, position: int, value: int, *, summed: bool = True) -> memoryview:
    """A right batch with one field changed, and the crc made right again."""
    batch = build(SAMPLES["headers"])
    struct.pack_into(where, batch, position, value)
    if summed:
        struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
    return memoryview(batch)


def reference_crc(data: bytes) -> int:
    """crc32c bit by bit, from its definition."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class TestHeader:
    """K2: what a batch says of itself."""

    def test_every_field_is_what_another_implementation_reads(self) -> None:
        batch = memoryview(kafka_build(SAMPLES["many"], Codec.GZIP, transactional=True))
        stamp(batch, 1_000_000_000_000, 42)
        ours, theirs = read_header(batch), DefaultRecordBatch(batch)
        assert ours.base_offset == theirs.base_offset == 1_000_000_000_000
        assert ours.size == theirs.size_in_bytes == len(batch)
        assert ours.leader_epoch == theirs.leader_epoch == 42
        assert ours.magic == theirs.magic == 2
        assert ours.crc == theirs.crc
        assert ours.attributes == theirs.attributes
        assert ours.codec == theirs.compression_type == Codec.GZIP
        assert ours.is_transactional is theirs.is_transactional is True
        assert ours.is_control is theirs.is_control_batch is False
        assert ours.is_log_append_time is bool(theirs.timestamp_type) is False
        assert ours.end_offset == theirs.next_offset == 1_000_000_000_700
        assert ours.base_timestamp == theirs.first_timestamp
        assert ours.max_timestamp == theirs.max_timestamp
        assert (ours.producer_id, ours.producer_epoch, ours.base_sequence) == (7, 3, 11)
        assert ours.last_sequence == theirs.last_sequence == 710
        assert ours.record_count == theirs.records_count == 700

    @pytest.mark.parametrize("base", [0, 2**31 - 700, 2**31 - 699, 2**31 - 1])
    def test_sequences_go_on_at_zero_after_the_largest_number(self, base: int) -> None:
        batch = build(SAMPLES["many"], producer_id=1, producer_epoch=0, base_sequence=base)
        assert read_header(batch).last_sequence == DefaultRecordBatch(batch).last_sequence == (base + 699) % 2**31

    def test_without_an_idempotent_producer_there_is_no_sequence(self) -> None:
        assert read_header(build(SAMPLES["many"])).last_sequence == -1

    def test_a_header_can_be_read_in_the_middle_of_a_buffer_before_the_rest_is_there(self) -> None:
        batch = build(SAMPLES["one"])
        assert read_header(b"???" + batch[:61], 3) == read_header(batch)


class TestSplit:
    """K7: batches one after the other."""

    def test_batches_are_views_of_the_same_memory(self) -> None:
        block = bytearray(b"".join(build(records, base_offset=n) for n, records in enumerate(SAMPLES.values())))
        found = list(split(block))
        assert [header.base_offset for header, _ in found] == list(range(len(SAMPLES)))
        assert b"".join(view for _, view in found) == block
        stamp(found[-1][1], 77, 1)
        assert read_header(block, len(block) - found[-1][0].size).base_offset == 77

    def test_nothing_holds_no_batches(self) -> None:
        assert list(split(b"")) == []

    def test_a_block_cut_anywhere_is_whole_batches_and_then_an_error(self) -> None:
        first, second = build(SAMPLES["one"]), build(SAMPLES["headers"])
        block = bytes(first + second)
        for end in range(1, len(block)):
            walk = split(block[:end])
            if end >= len(first):
                assert bytes(next(walk)[1]) == first
            if end == len(first):
                assert list(walk) == []
                continue
            with pytest.raises(errors.Truncated) as raised:
                list(walk)
            position = len(first) if end > len(first) else 0
            assert raised.value.position == position
            assert raised.value.found == end - position < raised.value.needed

    @pytest.mark.parametrize("length", [-(2**31), -1, 0, 48])
    def test_a_length_that_cannot_be_never_loops(self, length: int) -> None:
        with pytest.raises(errors.WrongSize) as raised:
            list(split(changed(">i", 8, length)))
        assert (raised.value.stated, raised.value.expected) == (length + 12, 61)


class TestCheck:
    """K7: what a client may send, and what may be stored."""

    @pytest.mark.parametrize("codec", list(Codec))
    def test_what_another_implementation_sends_is_taken(self, codec: int) -> None:
        batch = memoryview(kafka_build(SAMPLES["many"], codec))
        assert check(batch, len(batch)) == read_header(batch)

    BROKEN: tuple[tuple[type[errors.InvalidBatch], Callable[[], memoryview], dict[str, Any]], ...] = (
        (errors.Truncated, lambda: changed(">i", 8, 0)[:60], {"needed": 61, "found": 60}),
        (errors.WrongSize, lambda: changed(">i", 8, 50), {"stated": 62}),
        (errors.WrongSize, lambda: changed(">i", 8, 2**31 - 1), {"stated": 2**31 + 11}),
        (errors.WrongMagic, lambda: changed(">b", 16, 1), {"magic": 1}),
        (errors.WrongMagic, lambda: changed(">b", 16, 3), {"magic": 3}),
        (errors.WrongCrc, lambda: changed(">I", 17, 5, summed=False), {"stated": 5}),
        (errors.UnknownCodec, lambda: changed(">h", 21, 5), {"codec": 5}),
        (errors.UnknownCodec, lambda: changed(">h", 21, 7), {"codec": 7}),
        (errors.WrongCount, lambda: changed(">i", 23, 3), {"record_count": 3, "last_offset_delta": 3}),
        (errors.WrongCount, lambda: changed(">i", 23, 1), {"record_count": 3, "last_offset_delta": 1}),
        (errors.WrongCount, lambda: changed(">i", 57, 0), {"record_count": 0}),
        (errors.WrongCount, lambda: changed(">i", 57, -1), {"record_count": -1}),
        (errors.ControlRefused, lambda: changed(">h", 21, 0x20), {"producer_id": -1}),
        (errors.LogAppendTimeRefused, lambda: changed(">h", 21, 0x08), {}),
    )

    @pytest.mark.parametrize(("error", "batch", "facts"), BROKEN)
    def test_every_broken_rule_is_its_own_error(
        self, error: type[errors.InvalidBatch], batch: Callable[[], memoryview], facts: dict[str, Any]
    ) -> None:
        with pytest.raises(error) as raised:
            check(batch(), SIZE_MAX)
        assert isinstance(raised.value, Rejected)
        assert {name: getattr(raised.value, name) for name in facts} == facts

    def test_a_batch_one_byte_too_large_is_refused(self) -> None:
        batch = memoryview(build(SAMPLES["many"]))
        check(batch, len(batch))
        with pytest.raises(errors.TooLarge) as raised:
            check(batch, len(batch) - 1)
        assert (raised.value.size, raised.value.size_max) == (len(batch), len(batch) - 1)

    def test_bytes_after_the_batch_are_refused(self) -> None:
        with pytest.raises(errors.WrongSize):
            check(memoryview(build(SAMPLES["one"]) + b"x"), SIZE_MAX)

    def test_no_batch_without_an_offset_is_stored_either(self) -> None:
        """Last offset delta -1 would end the batch where it starts."""
        batch = bytearray(changed(">i", 23, -1))
        struct.pack_into(">i", batch, 57, 0)
        struct.pack_into(">I", batch, 17, crc32c(memoryview(batch)[21:]))
        with pytest.raises(errors.WrongCount):
            check(memoryview(batch), SIZE_MAX, from_client=False)

    @pytest.mark.parametrize(
        ("where", "position", "value"), [(">h", 21, 0x20), (">h", 21, 0x08), (">i", 23, 9), (">i", 57, 0)]
    )
    def test_what_the_broker_stores_may_be_more(self, where: str, position: int, value: int) -> None:
        """Markers, log-append time, offsets without records."""
        batch = changed(where, position, value)
        assert check(batch, SIZE_MAX, from_client=False) == read_header(batch)
        with pytest.raises(errors.InvalidBatch):
            check(batch, SIZE_MAX)

    def test_every_flipped_bit_under_the_crc_is_found(self) -> None:
        batch = bytearray(build(SAMPLES["one"]))
        for bit in range(17 * 8, len(batch) * 8):
            batch[bit // 8] ^= 1 << bit % 8
            with pytest.raises(errors.WrongCrc):
                check(memoryview(batch), SIZE_MAX)
            batch[bit // 8] ^= 1 << bit % 8
        check(memoryview(batch), SIZE_MAX)

    @pytest.mark.parametrize("magic", [0, 1])
    def test_older_formats_are_named_even_when_they_are_short(self, magic: int) -> None:
        """O5: another version is refused, not misread."""
        old = struct.pack(">qiIbb", 0, 22, 0, magic, 0) + bytes(16)
        with pytest.raises(errors.WrongMagic) as raised:
            list(split(old))
        assert raised.value.magic == magic

    def test_the_same_finding_in_stored_bytes_is_corruption(self) -> None:
        with pytest.raises(errors.CorruptBatch, match="segment 5: ") as raised, errors.stored("segment 5"):
            check(changed(">I", 17, 5, summed=False), SIZE_MAX)
        assert isinstance(raised.value, Corrupt)
        assert raised.value.name == "segment 5"
        assert isinstance(raised.value.violation, errors.WrongCrc)


class TestCrc:
    """K2: the checksum is Castagnoli's."""

    VECTORS = (
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    )

    @pytest.mark.parametrize(("data", "crc"), VECTORS)
    def test_published_vectors(self, data: bytes, crc: int) -> None:
        assert batches.crc32c(memoryview(data)) == reference_crc(data) == crc

    def test_it_covers_all_that_follows_it_and_nothing_before(self) -> None:
        batch = build(SAMPLES["headers"])
        assert read_header(batch).crc == reference_crc(bytes(batch[21:]))


class TestStamp:
    """K2: offsets, epochs and log-append time are written in place."""

    def test_the_place_in_the_log_lies_outside_the_crc(self) -> None:
        batch = memoryview(kafka_build(SAMPLES["headers"]))
        before = read_header(batch)
        stamp(batch, 2**62, 2**31 - 1)
        assert check(batch, SIZE_MAX) == before._replace(base_offset=2**62, leader_epoch=2**31 - 1)
        assert [record.offset for record in kafka_read(batch)] == [2**62, 2**62 + 1, 2**62 + 2]

    @pytest.mark.parametrize("codec", list(Codec))
    def test_log_append_time_is_one_for_all_records(self, codec: int) -> None:
        batch = memoryview(kafka_build(SAMPLES["many"], codec))
        before = read_header(batch)
        stamp_log_append_time(batch, NOW + 5)
        after = check(batch, SIZE_MAX, from_client=False)
        assert after.is_log_append_time
        assert after.codec == before.codec
        assert (after.base_timestamp, after.max_timestamp) == (before.base_timestamp, NOW + 5)
        assert {record.timestamp for record in kafka_read(batch)} == {NOW + 5}

    def test_the_header_is_as_long_as_everybody_says(self) -> None:
        assert HEADER.size == DefaultRecordBatch.HEADER_STRUCT.size == 61
        assert len(build([Record()])) == 61 + 7
