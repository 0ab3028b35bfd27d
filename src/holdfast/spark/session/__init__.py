"""A Spark session that has what our tasks need."""
