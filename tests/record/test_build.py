"""K2, K6: batches are built from records and from columns, and compaction keeps what it keeps as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.record.oracle import kafka_read
from tests.record.samples import CODECS, NOW, SAMPLES, any_records, rows, with_offsets

from holdfast.errors import Rejected
from holdfast.record.batch import check, read_header, stamp, stamp_log_append_time
from holdfast.record.build import Envelope, NoRecords, attributes_of, build
from holdfast.record.columnar.columns import Column
from holdfast.record.columnar.decode import decode
from holdfast.record.columnar.encode import OffsetsDoNotGrow, encode
from holdfast.record.errors import CorruptBatch, InvalidRecord
from holdfast.record.layout import Codec, TimestampType
from holdfast.record.marker import Marker, MarkerKind, build_marker, read_marker
from holdfast.record.records import Record, read_records
from holdfast.record.retain import retain

SIZE_MAX = 1 << 20

FULL = Envelope(
    base_offset=1000,
    leader_epoch=4,
    attributes=attributes_of(Codec.LZ4, transactional=True),
    producer_id=77,
    producer_epoch=5,
    base_sequence=12,
)


class TestBuild:
    """K2: from Python values."""

    def test_every_field_of_the_header(self) -> None:
        batch = build(
            SAMPLES["many"],
            base_offset=1000,
            leader_epoch=4,
            codec=Codec.LZ4,
            timestamp_type=TimestampType.LOG_APPEND,
            transactional=True,
            producer_id=77,
            producer_epoch=5,
            base_sequence=12,
        )
        header = check(memoryview(batch), SIZE_MAX, from_client=False)
        assert (header.base_offset, header.end_offset, header.leader_epoch) == (1000, 1700, 4)
        assert header.attributes == Codec.LZ4 | 0x08 | 0x10
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 5, 12)
        assert (header.base_timestamp, header.max_timestamp) == (NOW, NOW + 233)

    def test_the_result_can_be_stamped(self) -> None:
        batch = build(SAMPLES["one"])
        stamp(memoryview(batch), 5, 6)
        assert read_header(batch).base_offset == 5

    def test_given_offsets_are_kept_and_others_follow(self) -> None:
        offsets = [7, None, 20, None]
        batch = build([Record(offset=offset) for offset in offsets], base_offset=5)
        assert [record.offset for record in read_records(memoryview(batch))] == [7, 8, 20, 21]
        assert read_header(batch).end_offset == 22

    @pytest.mark.parametrize("offsets", [(4,), (5, 5), (6, 5)])
    def test_offsets_must_grow(self, offsets: tuple[int, ...]) -> None:
        with pytest.raises(InvalidRecord) as raised:
            build([Record(offset=offset) for offset in offsets], base_offset=5)
        assert raised.value.index == len(offsets) - 1

    def test_a_batch_of_nothing_is_refused(self) -> None:
        with pytest.raises(NoRecords):
            build([])


class TestEncode:
    """K2: from columns."""

    @settings(max_examples=40, deadline=None)
    @given(any_records(), st.data())
    def test_chosen_rows_keep_their_offsets(self, records: list[Record], data: st.DataObject) -> None:
        """K6: what compaction needs."""
        columns = decode(
            [build(records[:9]), build(records[9:], codec=Codec.GZIP)] if records[9:] else [build(records)]
        )
        mask = data.draw(st.lists(st.booleans(), min_size=len(records), max_size=len(records)).filter(any))
        kept = [record for record, chosen in zip(records, mask, strict=True) if chosen]
        by_mask = encode(columns, np.array(mask), Envelope())
        by_number = encode(columns, np.flatnonzero(mask), Envelope())
        assert by_mask == by_number
        assert kafka_read(by_mask) == rows(decode([by_mask])) == kept

    def test_the_envelope_is_kept(self) -> None:
        columns = decode([build(SAMPLES["many"], base_offset=1000)])
        batch = encode(columns, np.arange(700) % 2 == 0, FULL, last_offset_delta=699)
        header = check(memoryview(batch), SIZE_MAX, from_client=False)
        assert Envelope.of(header) == FULL
        assert (header.record_count, header.end_offset) == (350, 1700)

    def test_without_an_envelope_it_starts_at_its_first_row(self) -> None:
        columns = decode([build(SAMPLES["many"], base_offset=1000)])
        assert read_header(encode(columns, np.array([5, 9]))).base_offset == 1005

    def test_columns_that_were_not_decoded_become_null(self) -> None:
        batch = encode(decode([build(SAMPLES["headers"])], Column.KEY))
        assert kafka_read(batch) == [Record(b"k", None, NOW, (), offset) for offset in range(3)]

    @pytest.mark.parametrize("numbers", [(1, 0), (1, 1)])
    def test_offsets_must_grow(self, numbers: tuple[int, ...]) -> None:
        columns = decode([build(SAMPLES["many"])])
        with pytest.raises(OffsetsDoNotGrow):
            encode(columns, np.array(numbers))

    def test_offsets_must_not_start_before_the_batch(self) -> None:
        with pytest.raises(OffsetsDoNotGrow) as raised:
            encode(decode([build(SAMPLES["one"])]), envelope=Envelope(base_offset=1))
        assert isinstance(raised.value, Rejected)
        assert raised.value.base_offset == 1

    def test_a_batch_of_nothing_is_refused(self) -> None:
        with pytest.raises(NoRecords):
            encode(decode([build(SAMPLES["one"])]), np.array([False]))


class TestRetain:
    """K6: compaction lets records go and changes nothing else."""

    @settings(max_examples=40, deadline=None)
    @given(any_records(), st.sampled_from(CODECS), st.data())
    def test_what_is_kept_stays_as_it_was(self, records: list[Record], codec: int, data: st.DataObject) -> None:
        batch = memoryview(build(records, codec=codec, producer_id=7, producer_epoch=1, base_sequence=3))
        mask = data.draw(st.lists(st.booleans(), min_size=len(records), max_size=len(records)))
        kept = [record for record, chosen in zip(records, mask, strict=True) if chosen]
        result = retain(batch, np.array(mask))
        before, after = read_header(batch), check(memoryview(result), SIZE_MAX, from_client=False)
        assert rows(decode([result])) == list(read_records(memoryview(result))) == kept
        assert Envelope.of(after) == Envelope.of(before)
        assert (after.end_offset, after.base_timestamp) == (before.end_offset, before.base_timestamp)
        assert after.record_count == len(kept)
        if kept:
            assert kafka_read(result) == kept
            assert after.max_timestamp == max(record.timestamp for record in kept)

    def test_all_kept_is_the_same_batch(self) -> None:
        batch = memoryview(build(SAMPLES["many"], codec=Codec.ZSTD))
        assert retain(batch, np.ones(700, np.bool_)) == batch

    def test_log_append_time_stays(self) -> None:
        batch = memoryview(build(SAMPLES["many"]))
        stamp_log_append_time(batch, NOW + 10**6)
        assert read_header(retain(batch, np.arange(700) == 0)).max_timestamp == NOW + 10**6

    def test_a_choice_for_another_number_of_records_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="3 choices for 700 records"):
            retain(memoryview(build(SAMPLES["many"])), np.ones(3, np.bool_))

    def test_malformed_records_are_corrupt(self) -> None:
        batch = build(SAMPLES["many"])
        batch[61] = 0xFF
        with pytest.raises(CorruptBatch, match="segment 3"):
            retain(memoryview(batch), np.zeros(700, np.bool_), place="segment 3")


class TestMarkers:
    """K4: the ends of transactions."""

    @pytest.mark.parametrize("kind", MarkerKind)
    def test_a_marker_comes_back(self, kind: MarkerKind) -> None:
        marker = Marker(kind, 2**40, 5, 6, NOW)
        batch = memoryview(build_marker(marker, base_offset=9, leader_epoch=2))
        header = check(batch, SIZE_MAX, from_client=False)
        assert (header.base_offset, header.end_offset, header.leader_epoch) == (9, 10, 2)
        assert read_marker(batch) == marker

    @pytest.mark.parametrize("record", [Record(), Record(b"\0\0\0"), Record(b"\0\0\0\1", b"\0\0")])
    def test_what_is_no_marker_is_refused(self, record: Record) -> None:
        with pytest.raises(InvalidRecord, match="no marker"):
            read_marker(memoryview(build([record], control=True)))

    def test_a_marker_of_a_later_version_is_read_as_far_as_it_is_known(self) -> None:
        record = Record(b"\0\1\0\1more", b"\0\1\0\0\0\5more", NOW)
        batch = memoryview(build([record], control=True, producer_id=1, producer_epoch=0))
        assert read_marker(batch) == Marker(MarkerKind.COMMIT, 1, 0, 5, NOW)


def test_records_and_columns_build_the_same_bytes() -> None:
    for sample in SAMPLES.values():
        batch = build(sample, base_offset=3, codec=Codec.SNAPPY)
        assert encode(decode([batch]), envelope=Envelope.of(read_header(batch))) == batch
        assert rows(decode([batch])) == with_offsets(sample, 3)
