"""Reading, archiving and auditing topics with Spark: beside Spark's own Kafka connector, and beside Parquet."""
