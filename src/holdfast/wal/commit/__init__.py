"""Group commit: rounds that are written and made durable together, by one writer."""
