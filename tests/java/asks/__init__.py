"""A sensible request for every API, with all the fields of all versions: each version takes those it knows."""
