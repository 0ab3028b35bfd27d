"""`holdfast acl`."""
