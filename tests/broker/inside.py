"""A broker inside the test's own process, with real sockets, on a store that the test holds in its hands."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from holdfast.broker.broker import Broker
from holdfast.broker.context import BrokerContext
from holdfast.broker.net.listener import OpenListener
from holdfast.broker.net.server import Server
from holdfast.broker.running import AllSettings, BrokerEnvironment, listening, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import Objects
from holdfast.io.turns import short_turns_loop
from holdfast.log.settings import LogSettings
from holdfast.wal import WalSettings

START_S = 30


class InsideBroker:
    """Runs on a thread of its own for as long as its `with` block lasts."""

    def __init__(
        self,
        data: Path,
        objects: Objects,
        log: LogSettings | None = None,
        broker: BrokerSettings | None = None,
        wal: WalSettings | None = None,
        listener: Callable[[socket.socket], OpenListener] = OpenListener.plain,
    ) -> None:
        self._around = BrokerEnvironment.real(RealDirectory(data / "wal"), objects)
        self._settings = AllSettings(
            broker=broker or BrokerSettings(), log=log or LogSettings(), wal=wal or WalSettings()
        )
        self._bound = socket.socket()
        self._bound.bind(("127.0.0.1", 0))
        self.port: int = self._bound.getsockname()[1]
        self._listener = listener(self._bound)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run_all)
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self.context: BrokerContext  # To be looked at, not touched: it belongs to another thread.
        self.broker: Broker  # The same.
        self.server: Server  # The same.

    @property
    def server_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def hold_loop(self, action: Callable[[], object]) -> None:
        """Do something while the broker's loop stands still: what follows from it is all there when it goes on."""
        done = threading.Event()

        def act() -> None:
            action()
            done.set()

        self._loop.call_soon_threadsafe(act)
        assert done.wait(START_S)

    def _run_all(self) -> None:
        with asyncio.Runner(loop_factory=short_turns_loop) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        around = self._around
        async with (
            opened(around, self._settings) as broker,
            listening(broker, [self._listener], around.clock) as self.server,
        ):
            self.context = broker.context
            self.broker = broker.broker
            self._ready.set()
            await self._stop.wait()

    def __enter__(self) -> InsideBroker:
        self._thread.start()
        assert self._ready.wait(START_S), "the broker did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
