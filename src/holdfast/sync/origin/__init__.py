"""Where a record comes from, in one header: the mark's format, columns of marks, and what is found by them."""
