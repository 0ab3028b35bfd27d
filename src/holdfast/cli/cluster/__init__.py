"""`holdfast cluster`: brokers that share a store."""
