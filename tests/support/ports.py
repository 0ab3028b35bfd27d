"""The ports on which a process listens."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

LISTENS = "0A"  # As /proc/net/tcp has it.


def ports_of(pid: int) -> set[int]:
    """Of TCP, of either family."""
    folder = Path(f"/proc/{pid}/fd")
    links = set()
    for each in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # Closed since.
            links.add(os.readlink(folder / each))
    sockets = {found[1] for link in links if (found := re.fullmatch(r"socket:\[(\d+)\]", link))}
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == LISTENS and inode in sockets:
                ports.add(int(local.rpartition(":")[2], 16))
    return ports
