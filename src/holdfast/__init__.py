"""A Kafka-compatible durable log that never loses or hides an acknowledged record."""
