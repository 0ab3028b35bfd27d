"""What a direction remembers in the target: checkpoints, and who writes."""
