"""Whether a broker can run here, and what to do where it cannot."""
