"""How long somebody is waited for: not in all, but without any progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Given = TypeVar("Given")

GIVEN_UP_S = 60.0  # Six times as long as librdkafka waits for any answer (`socket.timeout.ms`).


class DoesNotReturn(Exception):
    """A call is not waiting for any broker any more, and does not come back."""


def within(seconds: float, call: Callable[[], Given]) -> Given:
    """What a call returns or raises; DoesNotReturn if it does neither: it is left to itself then."""
    answer: Future[Given] = Future()

    def work() -> None:
        try:
            answer.set_result(call())
        except BaseException as failure:
            answer.set_exception(failure)

    threading.Thread(target=work, daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError:
        if answer.done():
            raise
        raise DoesNotReturn(f"no answer within {seconds:g} s") from None


class Patience:
    """Ends when nothing has moved for so many seconds; a machine that is merely slow is waited for."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._moved_at = now()
        self._seen: object = None

    def moved(self) -> None:
        self._moved_at = self._now()

    def look(self, state: object) -> None:
        """Progress is whatever differs from the last look."""
        if state != self._seen:
            self._seen = state
            self.moved()

    @property
    def is_over(self) -> bool:
        return self._now() >= self._moved_at + self._seconds
