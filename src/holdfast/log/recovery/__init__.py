"""From a write-ahead log and a store to open partitions; what cannot be opened goes to quarantine."""
