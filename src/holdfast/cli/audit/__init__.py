"""`holdfast audit`."""
