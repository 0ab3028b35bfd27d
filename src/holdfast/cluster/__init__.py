"""The metadata log on the object store: which topics there are, their settings, and whatever a cluster shares."""
