"""A damaged data directory goes again, after saying exactly what is lost."""
