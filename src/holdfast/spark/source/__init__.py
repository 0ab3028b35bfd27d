"""The data source: topics as tables and streams, straight from segments."""
