"""The loops over records, as machine code. Each is imported only when there is something to do."""
