"""The data pipeline on Spark: reads topics straight from stored segments, without loading a broker, and writes them.

`register` makes `format("holdfast")` known to a session. `store` and `catalog` say where a cluster's segments are,
`plan` cuts ranges of offsets into even tasks on the driver, and `read` turns a task into Arrow batches on an executor.
`source` and `stream` are what Spark calls; `sink`, `staging` and `commit` write. `places` is one table over an archive
and the log (`table`, `view`). `jobs` are the pipelines. The guides:
`docs/guides/spark.md`, `docs/guides/spark-sink.md`, `docs/guides/pipelines.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.face import face

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.spark.places.table import table, view

__all__ = ["register", "table", "view"]


__getattr__ = face(__name__, dict.fromkeys(("table", "view"), "holdfast.spark.places.table"))


def register(spark: SparkSession) -> None:
    """Make `format("holdfast")` known to a session."""
    from holdfast.spark.source.source import HoldfastSource

    spark.dataSource.register(HoldfastSource)
