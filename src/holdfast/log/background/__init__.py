"""What goes on behind appends and reads: flushes, retention, compaction, deletions."""
