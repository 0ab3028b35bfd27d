"""P1: columns become Arrow without a copy, and Arrow becomes batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.record.oracle import kafka_read
from tests.record.samples import CODECS, NOW, SAMPLES, with_offsets

from holdfast.record.batch import stamp_log_append_time
from holdfast.record.build import Envelope, Extent, build, seal
from holdfast.record.columnar.arrow import SCHEMA, from_arrow, to_arrow
from holdfast.record.columnar.columns import Column
from holdfast.record.columnar.decode import Decoder, decode
from holdfast.record.columnar.encode import encode
from holdfast.record.records import Record


def as_records(batch: pa.RecordBatch) -> list[Record]:
    """What Arrow itself says is in it."""
    times = batch.column("timestamp").cast(pa.int64()).to_pylist()
    named: Any = (batch.column(name).to_pylist() for name in ("key", "value", "headers", "offset"))
    return [
        Record(key, value, time, tuple((header["key"], header["value"]) for header in headers), offset)
        for time, (key, value, headers, offset) in zip(times, zip(*named, strict=True), strict=True)
    ]


@pytest.mark.parametrize("sample", SAMPLES)
def test_arrow_holds_the_records(sample: str) -> None:
    batch = to_arrow(decode([build(SAMPLES[sample], codec=codec) for codec in CODECS]))
    batch.validate(full=True)
    assert batch.schema == SCHEMA
    assert as_records(batch) == with_offsets(SAMPLES[sample]) * len(CODECS)


def test_nothing_is_copied() -> None:
    columns = decode([build(SAMPLES["headers"])])
    batch: Any = to_arrow(columns)
    assert columns.key is not None
    assert columns.value is not None
    assert columns.headers is not None
    for name, array in (("key", columns.key), ("value", columns.value)):
        _, ends, data = batch.column(name).buffers()
        assert (ends.address, data.address) == (array.ends.ctypes.data, array.data.ctypes.data)
    assert batch.column("offset").buffers()[1].address == columns.offset.ctypes.data
    assert batch.column("timestamp").buffers()[1].address == columns.timestamp.ctypes.data
    entries = batch.column("headers").values
    assert entries.field("key").buffers()[2].address == columns.headers.keys.data.ctypes.data
    assert entries.field("value").buffers()[2].address == columns.headers.values.data.ctypes.data


def test_only_columns_that_were_decoded_are_there() -> None:
    batch = build(SAMPLES["many"])
    always = ["offset", "timestamp", "timestamp_type"]
    assert to_arrow(decode([batch], Column.NONE)).schema.names == always
    assert to_arrow(decode([batch], Column.VALUE)).schema.names == ["value", *always]


def test_no_records_make_an_empty_batch() -> None:
    batch = to_arrow(decode([]))
    batch.validate(full=True)
    assert batch.schema == SCHEMA
    assert batch.num_rows == 0


def test_timestamp_types_are_those_of_the_batches() -> None:
    appended = build(SAMPLES["null key"])
    stamp_log_append_time(memoryview(appended), NOW)
    batch = to_arrow(decode([build(SAMPLES["one"]), appended]))
    assert batch.column("timestamp_type").to_pylist() == [0, 1, 1]


def test_wide_columns_are_large() -> None:
    batch = to_arrow(Decoder(wide=True).decode([build(SAMPLES["headers"])]))
    batch.validate(full=True)
    assert batch.schema.field("value").type == pa.large_binary()
    assert pa.types.is_large_list(batch.schema.field("headers").type)
    assert as_records(batch) == with_offsets(SAMPLES["headers"])


def test_header_keys_that_are_no_text_are_replaced() -> None:
    record = bytes.fromhex("14 00 00 00 01 01 02 04 ff 61 01")  # One header, key ff 61, value null.
    batch = to_arrow(decode([seal(bytearray(61) + record, Extent(1, 0, 0, 0), Envelope())]))
    batch.validate(full=True)
    assert batch.column("headers").to_pylist() == [[{"key": "\N{REPLACEMENT CHARACTER}a", "value": None}]]


@pytest.mark.parametrize("sample", SAMPLES)
def test_arrow_makes_the_same_batch_again(sample: str) -> None:
    """P3: what a sink does with rows."""
    batch = build(SAMPLES[sample])
    for wide in (False, True):
        assert encode(from_arrow(to_arrow(Decoder(wide=wide).decode([batch])))) == batch


def test_a_slice_makes_a_batch_of_its_rows() -> None:
    records = [
        Record(None if n % 3 == 0 else b"%d" % n, b"v%d" % n, NOW + n, (("h", b"%d" % n),) * (n % 4)) for n in range(40)
    ]
    whole = to_arrow(decode([build(records)]))
    for start, count in ((0, 5), (3, 10), (8, 32), (39, 1)):
        batch = encode(from_arrow(whole.slice(start, count)))
        assert kafka_read(batch) == with_offsets(records)[start : start + count]


def test_a_few_columns_of_text_are_enough() -> None:
    table = pa.record_batch({"key": pa.array(["a", None]), "value": pa.array(["x", "y"], pa.large_string())})
    batch = encode(from_arrow(table, timestamp=NOW))
    assert kafka_read(batch) == [Record(b"a", b"x", NOW, (), 0), Record(None, b"y", NOW, (), 1)]


def test_other_units_of_time_are_taken() -> None:
    times = pa.array([NOW * 1000], pa.timestamp("us", "UTC"))
    batch = encode(from_arrow(pa.record_batch({"value": pa.array([b"v"]), "timestamp": times})))
    assert kafka_read(batch) == [Record(None, b"v", NOW, (), 0)]


def test_null_headers_are_no_headers() -> None:
    headers = pa.array([None, [{"key": "h", "value": b"1"}]], SCHEMA.field("headers").type)
    batch = encode(from_arrow(pa.record_batch({"value": pa.array([b"v", b"w"]), "headers": headers}), NOW))
    assert [record.headers for record in kafka_read(batch)] == [(), (("h", b"1"),)]
