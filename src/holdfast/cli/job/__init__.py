"""What the commands that run on Spark share: options, errors, progress, plots."""
