"""Many partitions into one order: used by server and client alike."""
