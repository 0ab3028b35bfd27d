"""What commands say and ask at a terminal: talk, tables, options, progress, plots, Ctrl-C,
and the way to a broker."""
