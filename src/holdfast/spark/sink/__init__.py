"""The sink: rows into topics, each batch once."""
