"""The side that reads partitions and sends."""
