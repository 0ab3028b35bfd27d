"""What the commands that run on Spark share: options, errors, what was stepped over."""
