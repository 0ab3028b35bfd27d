"""Batches cut from columns for many partitions, partitions chosen by keys, and batches given to another producer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from kafka.partitioner.default import murmur2

from holdfast.record.batch import check, read_header
from holdfast.record.build import build
from holdfast.record.columnar.arrow import from_arrow
from holdfast.record.columnar.cut import cut, row_sizes
from holdfast.record.columnar.decode import decode
from holdfast.record.columnar.key_hash import NO_KEY, partitions_of
from holdfast.record.layout import Codec
from holdfast.record.records import Record, read_records
from holdfast.record.restamp import joined, restamp

ROWS = 1000
T0 = 1_700_000_000_000


def columns(seed: int = 1) -> tuple[pa.RecordBatch, list[Record]]:
    chance = np.random.default_rng(seed)
    records = [
        Record(
            None if chance.random() < 0.1 else chance.bytes(int(chance.integers(0, 20))),
            None if chance.random() < 0.1 else chance.bytes(int(chance.integers(0, 200))),
            T0 + number,
            tuple((f"h{index}", chance.bytes(3)) for index in range(int(chance.integers(0, 3)))),
        )
        for number in range(ROWS)
    ]
    table = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([each.key for each in records], pa.binary()),
            "value": pa.array([each.value for each in records], pa.binary()),
            "timestamp": pa.array([each.timestamp for each in records], pa.timestamp("ms", "UTC")),
            "headers": pa.array(
                [[{"key": key, "value": value} for key, value in each.headers] for each in records],
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
        }
    )
    return table, records


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("start", [0, 137])
def test_rows_keep_their_order_in_each_partition(codec: Codec, start: int) -> None:
    """P3: every row is in the batches of its partition, in order, whole; no batch is larger than allowed."""
    table, records = columns()
    table, records = table.slice(start), records[start:]
    places = np.random.default_rng(2).integers(0, 5, len(records))
    found: dict[int, list[Record]] = {number: [] for number in range(5)}
    for piece in cut(from_arrow(table), places, size_max=4000, count_max=30, codec=codec):
        header = check(memoryview(piece.batch), 1 << 20)
        assert header.record_count == piece.record_count <= 30
        assert (
            sum(len(each.key or b"") + len(each.value or b"") for each in read_records(memoryview(piece.batch))) < 4000
        )
        found[piece.place] += [each._replace(offset=None) for each in read_records(memoryview(piece.batch))]
    for number, rows in found.items():
        assert rows == [each for each, place in zip(records, places, strict=True) if place == number]


def test_a_row_larger_than_a_batch_gets_one_of_its_own() -> None:
    """P3: nothing is left out because of its size; whoever sends it says no."""
    table = pa.RecordBatch.from_pydict({"value": [b"a", b"b" * 5000, b"c"]})
    pieces = list(cut(from_arrow(table, T0), np.zeros(3, np.int64), size_max=1000, count_max=100))
    assert [(piece.record_count, len(piece.batch) > 5000) for piece in pieces] == [(1, False), (1, True), (1, False)]


def test_sizes_are_upper_bounds() -> None:
    """P3: what is estimated is never less than what is written."""
    table, _ = columns(3)
    sizes = row_sizes(from_arrow(table))
    for piece in cut(from_arrow(table), np.arange(ROWS), size_max=1, count_max=1):
        assert len(piece.batch) - 61 <= sizes[piece.place]


def test_keys_go_where_java_producers_send_them() -> None:
    """P3: the partition of a key is that of another implementation of murmur2."""
    chance = np.random.default_rng(4)
    keys = [chance.bytes(size % 23) for size in range(500)] + [None, b""]
    table = pa.RecordBatch.from_pydict({"key": pa.array(keys, pa.binary())})
    found = from_arrow(table, T0).key
    assert found is not None
    expected = [NO_KEY if key is None else (murmur2(key) & 0x7FFFFFFF) % 7 for key in keys]
    assert partitions_of(found, 7).tolist() == expected


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize("transactional", [True, False])
def test_a_batch_becomes_another_producers(codec: Codec, transactional: bool) -> None:
    """P3: only the producer's fields change, the crc is right, and the records are the same memory."""
    batch = build(
        [Record(b"k", b"v" * 100, T0), Record(b"l", None, T0 + 5)], codec=codec, base_offset=77, transactional=True
    )
    head, records = restamp(memoryview(batch), 4711, 3, 12, transactional=transactional)
    assert records.obj is batch
    whole = joined(head, records)
    header = check(memoryview(whole), 1 << 20)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4711, 3, 12)
    assert (header.is_transactional, header.base_offset, header.codec) == (transactional, 0, codec)
    old = read_header(batch)
    assert (header.base_timestamp, header.max_timestamp) == (old.base_timestamp, old.max_timestamp)
    read = decode([whole])
    assert read.timestamp.tolist() == [T0, T0 + 5]
