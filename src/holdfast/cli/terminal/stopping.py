"""SIGTERM and Ctrl-C, for commands that go on until they are told: what is under way is finished first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any


def stop_on_signals(stop: Callable[[], object]) -> None:
    """The first signal ends it cleanly, a second one at once."""

    def hear(number: int, _frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, hear)


class Stopping:
    """Whether somebody has asked for the end."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def listen(self) -> None:
        """Hear signals from now on. Spark takes Ctrl-C for itself when it begins: then this is done again."""
        if not self._asked.is_set() and threading.current_thread() is threading.main_thread():
            stop_on_signals(self._asked.set)

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until the end is asked for: whether it is."""
        return self._asked.wait(max(0.0, seconds))
