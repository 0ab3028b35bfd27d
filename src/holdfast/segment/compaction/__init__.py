"""Segments into fewer or smaller ones: the last record of each key, and small ones merged."""
