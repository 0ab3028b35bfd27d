"""The loops over records, as machine code: from C, or by `record.compiled` in another way."""
