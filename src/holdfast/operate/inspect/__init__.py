"""What is stored, as it is found: partitions, segments, tails, batches."""
