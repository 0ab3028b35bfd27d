"""`holdfast subscribe`."""
