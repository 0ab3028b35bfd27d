"""Sockets, frames, requests and answers, and the event loop's watchdog."""
