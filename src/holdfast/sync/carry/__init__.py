"""Records carried from the source to the target: read, filtered, made into batches, produced."""
