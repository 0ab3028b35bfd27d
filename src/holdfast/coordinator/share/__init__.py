"""The coordinator of share groups (KIP-932): records are given out one by one, and acknowledged."""
