"""Suites of others, run against Holdfast and against Apache Kafka: `make suites`."""
