"""The manifest: which segments a partition has, as numbered versions in the store."""
