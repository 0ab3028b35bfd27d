"""A topic as what notebooks work with: an Arrow reader, and through it Polars, pandas and DuckDB.

All take what `read_topic` takes, and read no more than it does: partitions, columns, times and offsets are left out
before a byte of them is fetched.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from holdfast.catalog.catalog import Catalog
from holdfast.catalog.rows import TYPES, check_columns
from holdfast.catalog.topic import read_topic
from holdfast.errors import Rejected


def topic_reader(
    catalog: Catalog, topic: str, *, columns: Sequence[str] = tuple(TYPES), limit: int | None = None, **wanted: Any
) -> Any:
    """A `pyarrow.RecordBatchReader`, which holds one batch at a time; `limit` are rows."""
    check_columns(columns)
    schema: Any = pa.schema([(name, TYPES[name]) for name in columns])
    batches = read_topic(catalog, topic, columns=columns, **wanted)
    return pa.RecordBatchReader.from_batches(schema, batches if limit is None else _first(batches, limit))


def _first(batches: Iterator[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    """So many rows: what lies behind them is not read."""
    for batch in batches if count > 0 else ():
        yield batch.slice(0, count)
        count -= batch.num_rows
        if count <= 0:
            return


def to_polars(catalog: Catalog, topic: str, **wanted: Any) -> Any:
    """A Polars data frame; Arrow's memory is taken over, not copied."""
    return _library("polars").from_arrow(topic_reader(catalog, topic, **wanted).read_all())


def to_pandas(catalog: Catalog, topic: str, **wanted: Any) -> Any:
    """A pandas data frame."""
    _library("pandas")
    return topic_reader(catalog, topic, **wanted).read_pandas()


def duckdb_scan(catalog: Catalog, topic: str, connection: Any = None, **wanted: Any) -> Any:
    """A relation of DuckDB over the topic, read once, batch by batch, while a query runs on it."""
    return _library("duckdb").from_arrow(topic_reader(catalog, topic, **wanted), connection=connection)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Rejected(f"{name} is not installed: pip install {name}, or use topic_reader, which gives Arrow") from None
