"""Sync: how long a record is under way to the other cluster, over one partition and over very many."""
