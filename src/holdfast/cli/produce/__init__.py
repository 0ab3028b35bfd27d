"""`holdfast produce`."""
