"""K2: batches mean the same here as in another implementation, whoever writes and whoever reads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.record.oracle import kafka_build, kafka_read
from tests.record.samples import CODECS, SAMPLES, any_records, rows, with_offsets

from holdfast.record.batch import check, stamp
from holdfast.record.build import Envelope, attributes_of, build
from holdfast.record.columnar.decode import Decoder, decode
from holdfast.record.columnar.encode import encode
from holdfast.record.layout import Codec
from holdfast.record.marker import Marker, MarkerKind, build_marker
from holdfast.record.records import Record, read_records

SIZE_MAX = 1 << 30

every_codec = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name.lower())
every_sample = pytest.mark.parametrize("records", SAMPLES.values(), ids=SAMPLES)


@every_codec
@every_sample
def test_what_they_build_we_read(codec: Codec, records: list[Record]) -> None:
    batch = memoryview(kafka_build(records, codec))
    check(batch, SIZE_MAX)
    assert list(read_records(batch)) == rows(decode([batch])) == with_offsets(records)


@every_codec
@every_sample
def test_what_we_build_they_read(codec: Codec, records: list[Record]) -> None:
    batch = build(records, codec=codec, base_offset=500)
    assert check(memoryview(batch), SIZE_MAX).codec == codec
    assert kafka_read(batch) == with_offsets(records, 500)


@every_codec
@every_sample
def test_what_we_encode_from_columns_they_read(codec: Codec, records: list[Record]) -> None:
    columns = decode([build(records)])
    batch = encode(columns, envelope=Envelope(attributes=attributes_of(codec)))
    check(memoryview(batch), SIZE_MAX)
    assert kafka_read(batch) == with_offsets(records)


@every_sample
def test_uncompressed_batches_are_the_same_byte_for_byte(records: list[Record]) -> None:
    theirs = kafka_build(records)
    stamp(memoryview(theirs), 0, -1)  # They leave the epoch to the broker as 0, we as "none".
    assert theirs == build(records) == encode(decode([theirs]))


@every_codec
def test_transactional_batches_keep_their_producer(codec: Codec) -> None:
    """K4: what fencing and sequences are decided by."""
    theirs = kafka_build(SAMPLES["many"], codec, transactional=True)
    ours = build(SAMPLES["many"], codec=codec, transactional=True, producer_id=7, producer_epoch=3, base_sequence=11)
    for batch in (theirs, ours):
        (header,) = decode([batch]).batches
        assert header.is_transactional
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 11)
        assert kafka_read(batch) == rows(decode([batch])) == with_offsets(SAMPLES["many"])


@pytest.mark.parametrize("kind", MarkerKind)
def test_markers_are_control_records_to_them(kind: MarkerKind) -> None:
    """K4: commit and abort."""
    from kafka.record.default_records import DefaultRecordBatch

    batch = build_marker(Marker(kind, 7, 3, 9, 1234), base_offset=50)
    theirs = DefaultRecordBatch(batch)
    assert (theirs.is_control_batch, theirs.is_transactional) == (True, True)
    assert (theirs.producer_id, theirs.producer_epoch, theirs.base_sequence) == (7, 3, -1)
    (record,) = theirs
    assert (record.offset, record.timestamp, record.version) == (50, 1234, 0)
    assert (record.commit, record.abort) == (kind is MarkerKind.COMMIT, kind is MarkerKind.ABORT)


@settings(max_examples=60, deadline=None)
@given(any_records(), st.sampled_from(CODECS))
def test_any_records_mean_the_same_to_all_of_us(records: list[Record], codec: Codec) -> None:
    batch = build(records, codec=codec)
    assert list(read_records(memoryview(batch))) == rows(Decoder().decode([batch])) == kafka_read(batch) == records
