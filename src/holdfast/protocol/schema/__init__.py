"""Readers and writers made from schemas, for every message that is not hot."""
