"""What the demo does, a file for each step."""
