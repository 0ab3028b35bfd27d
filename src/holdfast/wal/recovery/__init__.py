"""Opening a log: what is there is replayed, and a new chunk begins behind it."""
