"""`holdfast serve`."""
