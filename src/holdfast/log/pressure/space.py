"""The disk's free space: near its end producers are refused, so that everything else, and the way back, still works.

Two things are kept. While less than the reserve's size is free, producers are refused. And a file of that size
is held back: when a write of the log, or a small one of a store on the same disk, finds the disk full all the same, the
file is given up and the write goes on.
Free space of about twice the reserve ends it: the file is made again, and producers go on. No restart is needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading

from holdfast.io.calls import BlockingCalls
from holdfast.io.clock import Clock
from holdfast.io.disk import Directory
from holdfast.io.disk.reserve import Reserve
from holdfast.log.errors import DiskFull, DiskUnknown

log = logging.getLogger(__name__)

_LOOK_EVERY_S = 0.01  # A look costs a few microseconds, but there are many produce requests.
_WATCH_EVERY_S = 0.5
_TRY_AGAIN_S = 0.1


class Space:
    """Belongs to one event loop, except `make_room`, which the writer of the log calls, and `make_room_for_store`."""

    def __init__(self, directory: Directory, reserve_size: int, calls: BlockingCalls, clock: Clock) -> None:
        self.path = directory.path
        self._directory = directory
        self._reserve = Reserve(directory, reserve_size)
        self._calls = calls
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._look_at = 0.0
        self._waits = False
        self._closing = threading.Event()
        self._watching: asyncio.Task[None] | None = None
        self.is_low = False

    async def begin(self, *, waits: bool) -> None:
        """Hold the reserve. From here on the log's writer waits for space where there is none, if it has a thread."""
        self._waits = waits
        if not await self._calls.local(self._reserve.hold):
            self._note_low()
        self.look()

    def check(self) -> None:
        """Raise DiskFull when nothing more may be produced."""
        now = self._clock.monotonic()
        if now >= self._look_at:
            self._look_at = now + _LOOK_EVERY_S
            self.look()
        if self.is_low:
            raise DiskFull(self.path, self._free_size(), self._reserve.size)

    def look(self) -> None:
        if self.is_low:
            return
        try:
            is_low = self._free_size() < self._reserve.size
        except DiskUnknown as failure:
            log.error("%s", failure, extra={"facts": {"event": "disk_unknown", "path": self.path}})
            self._refuse()
        else:
            if is_low:
                self._note_low()

    @property
    def reserve_size(self) -> int:
        return self._reserve.size

    def free_size(self) -> int | None:
        """Bytes that are free; None if the disk cannot be asked."""
        try:
            return self._free_size()
        except DiskUnknown:
            return None

    def _free_size(self) -> int:
        try:
            return self._directory.free_size()
        except OSError as failure:
            raise DiskUnknown(self.path, failure) from failure

    def make_room(self) -> bool:
        """A write found the disk full: whether to try it again. The writer's own thread may wait here."""
        given = self._reserve.give_up()
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody is left to be told.
            self._loop.call_soon_threadsafe(self._note_low)
        if given:
            return True
        return self._waits and not self._closing.wait(_TRY_AGAIN_S)

    def make_room_for_store(self) -> bool:
        """The store found its disk full: whether that may be this disk, and there be room now. Any thread may call."""
        if not self._reserve.is_held:
            return True  # Perhaps it was given up just now, for another put.
        if self._directory.free_size() >= self._reserve.size:
            return False
        self._reserve.give_up()
        with contextlib.suppress(RuntimeError):  # As above.
            self._loop.call_soon_threadsafe(self._note_low)
        return True

    def may_take(self, size: int) -> bool:
        """Whether a put of so many bytes leaves half of the reserve, if that was given up. Any thread may call."""
        return self._reserve.is_held or self._directory.free_size() - size >= self._reserve.size // 2

    def close(self) -> None:
        """Nobody waits for space any more."""
        self._closing.set()
        if self._watching is not None:
            self._watching.cancel()

    def _note_low(self) -> None:
        if self.is_low or self._closing.is_set():
            return
        log.warning(
            "disk low: %d bytes are free at %s, producers are refused until there are %d",
            self._directory.free_size(),
            self._directory.path,
            self._wanted(),
            extra={"facts": {"event": "disk_low", "free_size": self._directory.free_size()}},
        )
        self._refuse()

    def _refuse(self) -> None:
        """From here on producers are, until there is room."""
        self.is_low = True
        self._watching = asyncio.ensure_future(self._watch())

    def _wanted(self) -> int:
        """How much must be free for producers to go on: enough to be low not again at once."""
        return self._reserve.size * 5 // 4 + (0 if self._reserve.is_held else self._reserve.size)

    async def _has_room_again(self) -> bool:
        try:
            return self._directory.free_size() >= self._wanted() and await self._calls.local(self._reserve.hold)
        except OSError as failure:  # Asked again: were this the end of the watch, producers would be refused for ever.
            log.debug("disk low: %s cannot be looked at: %s", self.path, failure)
            return False

    async def _watch(self) -> None:
        while not await self._has_room_again():
            await self._calls.pause(_WATCH_EVERY_S)
        self.is_low = False
        free = self._directory.free_size()
        facts = {"event": "disk_ok", "free_size": free}
        log.info(
            "disk ok: %d bytes are free at %s, producers go on", free, self._directory.path, extra={"facts": facts}
        )
