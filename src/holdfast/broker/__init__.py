"""The broker: connections, dispatch, one file per Kafka API, error codes."""
