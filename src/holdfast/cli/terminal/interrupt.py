"""Ctrl-C and SIGTERM are heard where nothing is half done, so that what a command counts and prints stays true."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self, TypeVar

T = TypeVar("T")
_BEFORE: dict[signal.Signals, Callable[[int, FrameType | None], Any] | int] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}


class CtrlC:
    """A first Ctrl-C or SIGTERM ends a wait at once, or else the next one before it begins; a second one ends all."""

    def __init__(self) -> None:
        self._heard = False
        self._waits = False
        self._installed: list[signal.Signals] = []

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._installed = [each for each, before in _BEFORE.items() if signal.getsignal(each) == before]
            for each in self._installed:  # Whoever ignores one goes on so.
                signal.signal(each, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._installed:
            signal.signal(each, _BEFORE[each])

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        if self._waits or self._heard:
            raise KeyboardInterrupt
        self._heard = True

    def wait(self, work: Callable[[], T]) -> T:
        """Do something that may take long, and that may be cut off."""
        self._waits = True
        try:
            if self._heard:
                raise KeyboardInterrupt
            return work()
        finally:
            self._waits = False
