"""`holdfast topic`."""
