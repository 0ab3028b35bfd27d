"""Another implementation's encoder and decoder of batches: kafka-python's, with its own choice of codec libraries."""

from __future__ import annotations

from collections.abc import Sequence

from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from holdfast.record.records import Record

NO_LIMIT = 1 << 30


def kafka_build(records: Sequence[Record], codec: int = 0, *, transactional: bool = False) -> bytearray:
    """A batch as kafka-python's producer sends it. Records without an offset count from 0."""
    producer = (7, 3, 11) if transactional else (-1, -1, -1)
    builder = DefaultRecordBatchBuilder(2, codec, transactional, *producer, NO_LIMIT)
    for index, record in enumerate(records):
        offset = index if record.offset is None else record.offset
        assert builder.append(offset, record.timestamp, record.key, record.value, list(record.headers))
    return builder.build()


def kafka_read(batch: bytes | bytearray | memoryview) -> list[Record]:
    """The records as kafka-python's consumer sees them, after it found the crc right."""
    reader = DefaultRecordBatch(batch)
    assert reader.validate_crc()
    return [Record(r.key, r.value, r.timestamp, tuple(map(tuple, r.headers)), r.offset) for r in reader]
