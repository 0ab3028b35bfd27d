"""A data directory and its store, copied while the broker runs, and put back."""
