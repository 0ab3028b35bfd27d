"""Where PySpark finds `format("holdfast")` by itself: it looks into every module whose name begins with pyspark_."""

from __future__ import annotations

from holdfast.spark.source.source import HoldfastSource as DefaultSource

__all__ = ["DefaultSource"]
