"""Starts the broker again after it was killed, beside the client, which must not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from holdfast.testing import RunningBroker


class Restarting:
    """A thread that waits until it is asked. It is there before the kill: an interrupt at the kill finds it, and waits
    for the end of a start that is under way, so that no broker is left behind."""

    def __init__(self, broker: RunningBroker, on_back: Callable[[], None]) -> None:
        self._broker = broker
        self._on_back = on_back
        self._wake = threading.Event()
        self._wanted = False
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def ask(self) -> None:
        """The broker is dead: start it."""
        self._wanted = True
        self._wake.set()

    def check(self) -> None:
        """A broker that did not come back is told at once."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        self._wake.wait()
        if not self._wanted:
            return
        try:
            self._broker.start()
        except Exception as failure:  # Raised again by `check`, in the thread where somebody looks.
            self._failure = failure
        else:
            self._on_back()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wake.set()
        self._thread.join()
        if kind is None:
            self.check()
