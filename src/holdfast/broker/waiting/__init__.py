"""The broker while its store has not answered since the start."""
