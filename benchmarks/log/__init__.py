"""The partition log against the bare disk, plain Python and Parquet. Start it with `run.py`."""
