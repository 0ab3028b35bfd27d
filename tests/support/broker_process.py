"""`holdfast serve` as a child process, for tests that need a real one: `holdfast.testing`, with settings as texts."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from holdfast.testing import RunningBroker

COMMAND = Path(sys.executable).parent / "holdfast"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class BrokerProcess(RunningBroker):
    """One broker on one data directory; settings are written as for `--set`."""

    def __init__(self, data: Path, *, port: int = 0, settings: Sequence[str] = (), options: Sequence[str] = ()) -> None:
        given = [part for each in settings for part in ("--set", each)]
        super().__init__(data, port=port, options=[*given, *options])

    @property
    def address(self) -> str:
        return self.bootstrap
