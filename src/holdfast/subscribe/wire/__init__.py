"""What travels between a subscription's server and its client: schema, messages, errors."""
