"""One file for each page: a function from what the parts say to JSON."""
