"""`holdfast serve` as a child process, for tests that need a real one: `holdfast.testing`, with settings as texts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.testing import RunningBroker

COMMAND = Path(sys.executable).parent / "holdfast"


class BrokerProcess(RunningBroker):
    """One broker on one data directory; settings are written as for `--set`."""

    def __init__(
        self,
        data: Path,
        *,
        port: int = 0,
        settings: Sequence[str] = (),
        options: Sequence[str] = (),
        sets_listeners: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        given = [part for each in settings for part in ("--set", each)]
        super().__init__(
            data, port=port, options=[*given, *options], sets_listeners=sets_listeners, environment=environment
        )

    @property
    def address(self) -> str:
        return self.bootstrap
