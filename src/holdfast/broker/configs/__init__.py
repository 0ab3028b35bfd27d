"""Configs in Kafka's words: of topics, of the broker, of clients."""
