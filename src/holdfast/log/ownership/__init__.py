"""Whose store it is: claims, fencing, and whether the store answers."""
