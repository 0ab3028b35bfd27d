"""`holdfast wal stat|dump|verify`."""
