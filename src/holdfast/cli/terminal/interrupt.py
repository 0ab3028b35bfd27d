"""Ctrl-C is heard where nothing is half done, so that what a command counts and prints stays true."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self, TypeVar

T = TypeVar("T")


class CtrlC:
    """A first Ctrl-C ends a wait at once, or else the next one before it begins; a second one ends everything."""

    def __init__(self) -> None:
        self._heard = False
        self._waits = False
        self._installed = False

    def __enter__(self) -> Self:
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # Whoever ignores it goes on so.
            signal.signal(signal.SIGINT, self._hear)
            self._installed = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

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
