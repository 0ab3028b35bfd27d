"""`holdfast group`."""
