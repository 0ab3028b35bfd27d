"""Bytes on the broker's port that are no request, in several ways."""

from __future__ import annotations

import contextlib
import random
import socket
import struct

_TIMEOUT_S = 0.3


def throw_garbage(port: int, chance: random.Random, count: int) -> None:
    """Some connections with garbage; what they are answered is of no interest."""
    for _ in range(count):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), _TIMEOUT_S) as connection:
            connection.settimeout(_TIMEOUT_S)
            connection.sendall(_garbage(chance))
            if chance.random() < 0.5:
                connection.recv(4096)


def _garbage(chance: random.Random) -> bytes:
    noise = chance.randbytes(chance.randint(1, 4000))
    api, version = chance.randint(-1, 80), chance.randint(-1, 20)
    headed = struct.pack(">hhih", api, version, chance.getrandbits(31), -1) + noise
    return chance.choice(
        [
            noise,
            struct.pack(">i", 0x7FFFFFFF) + noise,  # A request of two gigabytes.
            struct.pack(">i", -5) + noise,
            struct.pack(">i", len(noise) + 1000) + noise,  # One that does not come to its end.
            struct.pack(">i", len(headed)) + headed,  # A known header, and nonsense behind it.
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        ]
    )
