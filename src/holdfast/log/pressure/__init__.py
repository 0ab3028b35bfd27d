"""Back-pressure: memory, the write-ahead log's size and the disk's space are bounded by holding producers back."""
