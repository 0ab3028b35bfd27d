"""The write-ahead log in the store: numbered rounds of one life, the seal that ends them, and the way back."""
