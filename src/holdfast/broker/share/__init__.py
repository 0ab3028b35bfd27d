"""Share groups on the broker's side: sessions, reads, acknowledgements."""
