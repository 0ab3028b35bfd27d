"""What commands that use a running broker share: a small Kafka client, its options, its errors, tables."""
