"""Segments read through the block cache."""
