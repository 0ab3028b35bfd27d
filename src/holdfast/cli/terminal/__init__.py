"""What commands say and ask at a terminal: talk, tables, options, progress, plots."""
