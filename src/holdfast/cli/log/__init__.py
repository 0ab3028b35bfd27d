"""`holdfast log stat|dump|verify`."""
