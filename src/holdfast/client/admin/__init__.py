"""What an operator asks of a cluster: topics, groups and their offsets, users, rules."""
