"""The data pipeline on Spark: reads topics straight from the stored segments, without loading a broker.

`register` makes `format("holdfast")` known to a session. `store` and `catalog` say where a cluster's segments are,
`plan` cuts ranges of offsets into even tasks on the driver, and `read` turns a task into Arrow batches on an executor.
`source` and `stream` are what Spark calls. The guide is `docs/guides/spark.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make `format("holdfast")` known to a session."""
    from holdfast.spark.source import HoldfastSource

    spark.dataSource.register(HoldfastSource)
