"""Ports that stay free between two starts.

A port that the kernel chose lies in the range from which it also gives out the local ends of connections. While a
broker is down, a client that calls its port again and again may be given that very port as its own end, and be
connected to itself: the next start finds the port taken. Ports below that range go to nobody who does not ask for them.
"""

from __future__ import annotations

import socket
from pathlib import Path

from holdfast.io.chance import SystemChance

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_000
_DYNAMIC = 49_152  # Where the range begins when the kernel does not say.
_TRIES = 100


def free_port() -> int:
    """One on which nobody listens now, and which, on a kernel with the usual range, no connection is given later."""
    below, chance = max(_range_start(), _LOWEST + 1_000), SystemChance()
    for _ in range(_TRIES):
        port = _LOWEST + int(chance.fraction() * (below - _LOWEST))
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"no port between {_LOWEST} and {below} is free")


def _range_start() -> int:
    try:
        return int(_RANGE.read_text().split()[0])
    except (OSError, ValueError):
        return _DYNAMIC
