"""The same rows as Kafka batches and as a Parquet file: keys of 8 bytes, values of 100, headers on a tenth."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.record.build import Envelope
from holdfast.record.columnar.arrow import SCHEMA, from_arrow
from holdfast.record.columnar.encode import encode

RECORDS_PER_BATCH = 1000
VALUE_SIZE = 100
_WORDS = ("order", "paid", "sent", "refund", "basket", "guest", "member", "paper", "glass", "wood", "north", "south")


def table_of(count: int) -> Any:
    """So many rows. Values are text, as logs hold it, so that codecs have something to do."""
    chance = random.Random(7)
    rows = {
        "key": [b"%08x" % chance.getrandbits(32) for _ in range(count)],
        "value": [_value(chance) for _ in range(count)],
        "offset": np.arange(count),
        "timestamp": np.arange(1_700_000_000_000, 1_700_000_000_000 + count).astype("datetime64[ms]"),
        "timestamp_type": np.zeros(count, np.int32),
        "headers": [[("trace", b"%016x" % row)] if row % 10 == 0 else [] for row in range(count)],
    }
    return pa.table([pa.array(rows[field.name], field.type) for field in SCHEMA], schema=SCHEMA)


def _value(chance: random.Random) -> bytes:
    words = " ".join(chance.choices(_WORDS, k=12))
    return (f'{{"id":{chance.getrandbits(40)},"text":"{words}' + " " * VALUE_SIZE)[: VALUE_SIZE - 2].encode() + b'"}'


def batches_of(table: Any, codec: int) -> list[bytearray]:
    """The rows as batches."""
    (whole,) = table.combine_chunks().to_batches()
    columns = from_arrow(whole)
    return [
        encode(columns, np.arange(start, min(start + RECORDS_PER_BATCH, len(columns))), Envelope(start, 0, codec))
        for start in range(0, len(columns), RECORDS_PER_BATCH)
    ]


def parquet_of(table: Any, compression: str) -> Any:
    """The rows as a Parquet file in memory."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=compression)
    return sink.getvalue()
