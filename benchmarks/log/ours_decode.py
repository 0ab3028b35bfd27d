"""Decodes the same rows in several ways, one after the other in each turn: the size names the codec.

Every figure is of one core: pyarrow may use no threads either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.log.rows import RECORDS_PER_BATCH, batches_of, parquet_of, table_of
from benchmarks.workload import Arguments, Report

from holdfast.record.batch import check_crc, read_header
from holdfast.record.codec import decompress_into
from holdfast.record.columnar.arrow import to_arrow
from holdfast.record.columnar.columns import Column
from holdfast.record.columnar.decode import Decoder
from holdfast.record.layout import HEADER_SIZE, Codec
from holdfast.record.records import read_records

NARROW = ["offset", "timestamp"]
_GROUP = 20_000  # Records of one output.
_PLAIN_BATCHES = 10  # Plain Python is a hundred times slower.
_PASSES = 3
_EXPANDED_SIZE = 4 << 20  # More than a batch expands to.


def decode(arguments: Arguments) -> Report:
    """Facts: records per second of each way."""
    codec = Codec(arguments.number("size"))
    table = table_of(arguments.number("records"))
    batches = batches_of(table, codec)
    file = parquet_of(table, codec.name)
    everything, narrow = Decoder(Column.ALL), Decoder(Column.NONE)
    ways: dict[str, tuple[int, Callable[[], int]]] = {
        "ours_all": (len(table), lambda: _ours(everything, batches)),
        "parquet_all": (len(table), lambda: _parquet(file, None)),
        "ours_narrow": (len(table), lambda: _ours(narrow, batches)),
        "parquet_narrow": (len(table), lambda: _parquet(file, NARROW)),
        "limit": (len(table), lambda: _limit(batches)),
        "plain": (_PLAIN_BATCHES * RECORDS_PER_BATCH, lambda: _plain(batches[:_PLAIN_BATCHES])),
    }
    for count, way in ways.values():
        assert way() == count  # Also warms up.
    seconds = dict.fromkeys(ways, 0.0)
    turns = arguments.number("turns")
    for _ in range(turns):
        arguments.await_turn()
        for name, (_, way) in list(ways.items()) * _PASSES:
            start = time.perf_counter()
            way()
            seconds[name] += time.perf_counter() - start
    passes = turns * _PASSES
    report = Report(len(table) * passes, seconds["ours_all"])
    report.facts = {name: round(count * passes / seconds[name]) for name, (count, _) in ways.items()}
    report.facts |= {"batches_size": sum(map(len, batches)), "parquet_size": file.size}
    return report


def _ours(decoder: Decoder, batches: Sequence[bytearray]) -> int:
    return sum(to_arrow(columns).num_rows for columns in decoder.groups(batches, _GROUP))


def _limit(batches: Sequence[bytearray]) -> int:
    """What nobody can do without who reads anything of this format: each batch's crc, and its records decompressed."""
    count, target = 0, memoryview(bytearray(_EXPANDED_SIZE))
    for data in batches:
        batch = memoryview(data)
        header = read_header(batch)
        check_crc(header, batch)
        if header.codec != Codec.NONE:
            decompress_into(header.codec, batch[HEADER_SIZE:], target)
        count += header.record_count
    return count


def _parquet(file: Any, columns: list[str] | None) -> int:
    rows: int = pq.read_table(pa.BufferReader(file), columns=columns, use_threads=False).num_rows
    return rows


def _plain(batches: Sequence[bytearray]) -> int:
    return sum(1 for batch in batches for _ in read_records(memoryview(batch)))
