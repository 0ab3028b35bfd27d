"""A change of the log happens whole, or the log stops."""

from __future__ import annotations

from collections.abc import Callable


class AtomicChange:
    """`with whole:` around the steps of one change, under the log's lock.

    Interrupted half-way (Ctrl-C, no memory left) memory and queue would disagree, and the next record would be written
    behind a hole. So the log stops, like after a failed write; what was durable before stays, and it can be reopened.
    """

    __slots__ = ("_stop",)

    def __init__(self, stop: Callable[[BaseException], None]) -> None:
        self._stop = stop

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, failure: BaseException | None, traceback: object) -> None:
        if failure is not None:
            self._stop(failure)
