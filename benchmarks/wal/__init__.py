"""The write-ahead log side by side with the raft-log crate and with the bare disk. Start it with `run.py`."""
