"""The data pipeline on Spark: reads topics straight from the stored segments, without loading a broker.

`store` and `catalog` say where a cluster's segments are, `plan` cuts ranges of offsets into even tasks on the driver,
and `read` turns a task into Arrow batches on an executor. The guide is `docs/guides/spark.md`.
"""
