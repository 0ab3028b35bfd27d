"""The bytes of the log: frames, what they say, and walking over them."""
