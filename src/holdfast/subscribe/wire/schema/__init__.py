"""The service's messages: `subscribe.proto`, and the Python classes that `generate` makes of it."""
