"""Back-pressure: memory, the log's size and the disk's space are bounded, by purges and by holding producers back."""
