"""`holdfast repair`."""
