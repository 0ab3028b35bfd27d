"""One partition: appends, acks, the tail, reads, flushes, producers."""
