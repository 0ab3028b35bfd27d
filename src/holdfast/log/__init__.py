"""One partition: offsets, acks, the tail in memory, flushes into segments, reads, retention, producer state.

`Logs` holds all partitions of one broker over one write-ahead log and one object store.
"""
