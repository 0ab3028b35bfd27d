"""`holdfast sync`."""
