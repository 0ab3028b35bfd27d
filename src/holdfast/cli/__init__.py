"""The commands, and the one place that puts the parts together."""
