"""What is remembered between a client's fetches."""
