"""The hot messages, by hand: batches stay views of the bytes that came, and of those that go."""
