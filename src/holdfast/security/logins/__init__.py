"""Logins: the life of one, and how each mechanism proves who somebody is."""
