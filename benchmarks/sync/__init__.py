"""Sync: how fast it copies beside MirrorMaker 2, and how long a record is under way, also over very many partitions."""
