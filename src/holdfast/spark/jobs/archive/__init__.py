"""The job `archive`: topics into Parquet, Delta Lake or Iceberg."""
