"""Memory and open files of the broker, as the operating system counts them."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from tests.torture.history import History
from tests.torture.proxy import Proxy

from holdfast.testing import RunningBroker

_EVERY_S = 0.5
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Sampler:
    """Looks at whichever process the broker is."""

    broker: RunningBroker
    proxies: tuple[Proxy, ...]
    history: History

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(_EVERY_S):
            process = self.broker.pid
            try:
                rss, handles = sample(process)
            except OSError:
                continue  # It has just ended.
            connections = sum(each.connections for each in self.proxies)
            self.history.info("sample", process=process, rss=rss, handles=handles, connections=connections)


def sample(process: int) -> tuple[int, int]:
    """Bytes in memory, and open files and connections."""
    place = Path("/proc") / str(process)
    pages = int((place / "statm").read_text().split()[1])
    return pages * _PAGE, len(os.listdir(place / "fd"))


def sockets(process: int) -> int:
    """How many of its open files are connections, to clients or to the store."""
    place = Path("/proc") / str(process) / "fd"
    found = 0
    for each in os.listdir(place):
        with contextlib.suppress(OSError):  # It was closed meanwhile.
            found += os.readlink(place / each).startswith("socket:")
    return found
