"""What a cluster has stored, read without a broker: from plain Python, into Arrow.

from holdfast.catalog import open_catalog

catalog = open_catalog("./data")             # Or a store: s3://bucket/prefix.
catalog.topics                               # By name.
for batch in read_topic(catalog, "orders"):  # Arrow record batches, partition by partition, in order.
    …
to_polars(catalog, "orders")                 # Or to_pandas, duckdb_scan, topic_reader.

Nothing takes a lock. What is in the store is read, with the rounds of a write-ahead log that is there; the newest
records of a log on a broker's disk are not: `catalog.readable` says up to where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.face import face

if TYPE_CHECKING:
    from holdfast.catalog.catalog import Catalog, open_catalog
    from holdfast.catalog.errors import DataLost, NotMadeYet, OutOfRange
    from holdfast.catalog.frames import duckdb_scan, to_pandas, to_polars, topic_reader
    from holdfast.catalog.store import Store, find_store
    from holdfast.catalog.times import Times
    from holdfast.catalog.topic import read_topic

__all__ = [
    "Catalog",
    "DataLost",
    "NotMadeYet",
    "OutOfRange",
    "Store",
    "Times",
    "duckdb_scan",
    "find_store",
    "open_catalog",
    "read_topic",
    "to_pandas",
    "to_polars",
    "topic_reader",
]

# Arrow and the compiled loops are loaded when they are used.
__getattr__ = face(
    __name__,
    {
        "Catalog": "holdfast.catalog.catalog",
        "DataLost": "holdfast.catalog.errors",
        "NotMadeYet": "holdfast.catalog.errors",
        "OutOfRange": "holdfast.catalog.errors",
        "Store": "holdfast.catalog.store",
        "Times": "holdfast.catalog.times",
        "duckdb_scan": "holdfast.catalog.frames",
        "find_store": "holdfast.catalog.store",
        "open_catalog": "holdfast.catalog.catalog",
        "read_topic": "holdfast.catalog.topic",
        "to_pandas": "holdfast.catalog.frames",
        "to_polars": "holdfast.catalog.frames",
        "topic_reader": "holdfast.catalog.frames",
    },
)
