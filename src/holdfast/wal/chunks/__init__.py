"""The files of the log: which there are, in which order, and where their entries lie."""
