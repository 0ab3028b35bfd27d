"""`holdfast consume`."""
