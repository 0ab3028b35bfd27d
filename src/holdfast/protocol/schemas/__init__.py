"""Schemas of messages that the library does not have, in Kafka's own form."""
