"""One table over all places: what is archived from Parquet, the rest from segments, the newest from the broker."""
