"""Subscriptions: the two set-ups they are measured by, the real thing on disk and on S3, and the latency of live."""
