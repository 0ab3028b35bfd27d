"""A terminal for a command that draws differently where somebody looks."""

from __future__ import annotations

import os
import pty
import re
import select
import time

PATIENCE_S = 120.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """What a command draws on it, without colours and movements."""

    COLUMNS = 140

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        self.text = ""

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "COLUMNS": str(self.COLUMNS), "TERM": "xterm"}

    def handed_over(self) -> None:
        """The command has its own handle by now: with its end the terminal ends."""
        os.close(self.theirs)

    def read_until(self, wanted: str) -> None:
        """Read until something that matches was drawn."""
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(wanted, self.text):
            assert time.monotonic() < deadline, self.text
            if select.select([self._ours], [], [], 1.0)[0]:
                self.text += _ESCAPES.sub("", os.read(self._ours, 65536).decode())
