"""`holdfast tables`."""
