"""`holdfast user`."""
