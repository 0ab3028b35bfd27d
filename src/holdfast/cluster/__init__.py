"""The metadata log on the object store: which topics there are, their configs, and whatever a cluster shares."""
