"""SIGHUP: look again at what may change while the broker runs. From the start on it ends nothing."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.errors import HoldfastError

log = logging.getLogger("holdfast")


class Reload:
    """Those who look again when they are told to."""

    def __init__(self) -> None:
        self.on_signal: list[Callable[[], None]] = []
        self._tasks: set[asyncio.Future[None]] = set()

    @contextmanager
    def heard(self, level: Callable[[], str]) -> Iterator[None]:
        """For as long as the block lasts. `level` reads the settings again, and says how much is to be told."""
        loop = asyncio.get_running_loop()

        def tell() -> None:
            log.info("SIGHUP: certificates and the log level are looked at", extra={"facts": {"event": "reload"}})
            for each in self.on_signal:
                each()
            task = asyncio.ensure_future(_set_level(level))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        loop.add_signal_handler(signal.SIGHUP, tell)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGHUP)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # What is being closed is closed to its end.


async def _set_level(level: Callable[[], str]) -> None:
    try:
        wanted = (await asyncio.to_thread(level)).upper()
    except (HoldfastError, OSError) as failure:
        log.error("the settings cannot be read again: %s; the log level stays", failure)
        return
    ours = logging.getLogger("holdfast")
    if ours.level != logging.getLevelName(wanted):
        ours.setLevel(wanted)
        log.warning("the log level is %s now", wanted.lower(), extra={"facts": {"event": "log_level"}})
