"""Many records at once, as columns: decoded, encoded, cut into batches, and as Apache Arrow."""
