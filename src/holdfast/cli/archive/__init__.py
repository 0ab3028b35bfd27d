"""`holdfast archive`."""
