"""What brokers of a cluster ask each other: ends of transactions, and whether batches belong to one."""
