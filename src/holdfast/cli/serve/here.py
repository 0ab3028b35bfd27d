"""Which data directory this is: the same path on another machine, or a copy on this one, is another.

After a restart of the machine it counts as another, too: a copy of a whole machine has everything else in common with
its original. That costs the start some seconds, in which a live original is asked for.
"""

from __future__ import annotations

import contextlib
import os
import socket
from hashlib import sha256
from pathlib import Path

from holdfast.log.ownership.owner import Here

_MACHINE = Path("/etc/machine-id")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def here(data: Path) -> Here:
    """Told by the machine, its last start, and the directory's own number on its disk."""
    found = data.stat()
    parts = [_text(_MACHINE), _text(_BOOT), socket.gethostname(), str(found.st_dev), str(found.st_ino)]
    place = sha256("\n".join(parts).encode()).hexdigest()[:32]
    return Here(place, f"{data.absolute()} on {socket.gethostname()}, process {os.getpid()}")


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8").strip()
    return ""
