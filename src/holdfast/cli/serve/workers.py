"""`holdfast serve --workers N`: N brokers on N cores of one machine, with numbers and ports in a row, over one store.

The parent only starts them, starts again whoever ends, and passes signals on. Each partition has a leader of its own
among them (`cluster.leaders=many`), so clients spread over all by themselves.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from holdfast.cluster.served_store import AGAIN_S, chosen_store, read_served, recorded, tell_unwritten, write_served
from holdfast.errors import Rejected
from holdfast.io.address import Address, parse_address

if TYPE_CHECKING:
    from holdfast import config

log = logging.getLogger("holdfast")

WORKERS_MAX = 64
_LOOK_S = 0.1
_AGAIN_S = 1.0  # A worker that ends at once is not started more often.
_STOPS = signal.SIGTERM, signal.SIGINT


def worker_settings(settings: config.Settings, number: int, count: int) -> list[str]:
    """What one of the workers is started with, beside what all of them are."""
    serve, data = settings.serve, Path(settings.serve.data_path)
    store = chosen_store(data, serve.store)
    own = {
        "cluster.member": "true",
        "cluster.leaders": "many",
        "cluster.drain_ms": "0",  # All of them stop together: there is nobody to hand over to.
        "wal.place": "store",
        "node.id": str(settings.broker.node_id + number),
        "serve.data_path": str(data / f"worker-{number}"),
        "serve.store": store,
        "serve.listen": str(_in_row(serve.listen, number)),
        "subscribe.listen": _subscribe(settings.subscribe.listen, number),
        "log.cache_size_max": str(settings.log.cache_size_max // count),
        "log.tail_size_max": str(settings.log.tail_size_max // count),
    }
    if settings.subscribe.advertise:
        own["subscribe.advertise"] = str(_in_row(settings.subscribe.advertise, number))
    if serve.advertise:
        own["serve.advertise"] = str(_in_row(serve.advertise, number))
    for name, listen in (("metrics_listen", serve.metrics_listen), ("console_listen", serve.console_listen)):
        if listen:
            own[f"serve.{name}"] = str(_in_row(listen, number))
    if "://" not in store:
        own["wal.interval_ms"] = "5"  # Requests cost nothing there.
    return [f"{name}={value}" for name, value in own.items()]


def _subscribe(listen: str, number: int) -> str:
    """None by itself: two above a Kafka port there is that of another worker."""
    if listen in ("", "none", "auto"):
        return "none"
    name, sign, address = listen.rpartition("://")
    return f"{name}{sign}{_in_row(address, number)}"


def _in_row(listen: str, number: int) -> Address:
    host, port = parse_address(listen)
    if port == 0:
        raise Rejected(f"{listen}: workers have ports in a row, so the first must be given")
    return Address(host, port + number)


def check_workers(settings: config.Settings, count: int) -> None:
    """Raise Rejected where there cannot be several."""
    if not 1 <= count <= WORKERS_MAX:
        raise Rejected(f"--workers {count}: there are 1 to {WORKERS_MAX}")
    if settings.broker.listeners:
        raise Rejected("--workers needs --listen (serve.listen), and not listeners: their ports are in a row")
    for number in range(count):
        worker_settings(settings, number, count)


class Workers:
    """The processes, in the order of their numbers."""

    def __init__(self, commands: Sequence[Sequence[str]], on_look: Callable[[], None]) -> None:
        self._commands = commands
        self._on_look = on_look
        self._started_at = [0.0] * len(commands)
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._is_stopping = False
        self._woken = threading.Event()

    def run(self) -> int:
        """Until a signal says stop; 0 if all of them have stopped cleanly."""
        with self._signals():
            while not self._is_stopping:
                self._look()
                self._on_look()
                self._woken.wait(_LOOK_S)
                self._woken.clear()
            return max((each.wait() for each in self._running.values()), default=0)

    def _look(self) -> None:
        now = time.monotonic()
        for number, command in enumerate(self._commands):
            running = self._running.get(number)
            if running is not None and running.poll() is None:
                continue
            if running is not None:
                facts = {"event": "worker_ended", "worker": number, "code": running.returncode}
                said = "worker %d has ended with %d, and is started again"
                log.warning(said, number, running.returncode, extra={"facts": facts})
                del self._running[number]
            if now >= self._started_at[number] + _AGAIN_S and not self._is_stopping:
                self._started_at[number] = now
                self._running[number] = subprocess.Popen(command)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        before = {each: signal.signal(each, self._pass_on) for each in (*_STOPS, signal.SIGHUP)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _pass_on(self, which: int, _: FrameType | None) -> None:
        self._is_stopping = self._is_stopping or which in _STOPS
        self._woken.set()
        for each in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                each.send_signal(which)


class StoreNote:
    """Writes down for the directory of all workers which store it is served with, when one of them has done so."""

    def __init__(self, data: Path, store: str, count: int) -> None:
        self._data = data
        self._store = store
        self._workers = [data / f"worker-{number}" for number in range(count)]
        self._due_at: float | None = 0.0

    def look(self) -> None:
        if self._due_at is None or time.monotonic() < self._due_at:
            return
        try:
            if any(map(self._is_served, self._workers)):
                write_served(self._data, self._store)
                self._due_at = None
        except OSError as failure:
            self._due_at = time.monotonic() + AGAIN_S
            tell_unwritten(self._data, failure)

    def _is_served(self, worker: Path) -> bool:
        try:
            store = read_served(worker)
        except Rejected:
            return False  # Damaged: the worker writes it anew.
        return store is not None and recorded(self._data, store) == recorded(self._data, self._store)


def serve_with(count: int, config_file: Path | None, given: Sequence[str], settings: config.Settings) -> int:
    """Start the workers, and look after them."""
    check_workers(settings, count)
    shared = [*(["--config", str(config_file)] if config_file else []), *_assigned(given)]
    commands = [
        [sys.executable, "-m", "holdfast", "serve", *shared, *_assigned(worker_settings(settings, number, count))]
        for number in range(count)
    ]
    facts = {"event": "workers", "workers": count}
    log.info("%d workers, the first at %s", count, settings.serve.listen, extra={"facts": facts})
    data = Path(settings.serve.data_path)
    note = StoreNote(data, chosen_store(data, settings.serve.store), count)
    return Workers(commands, note.look).run()


def _assigned(given: Sequence[str]) -> list[str]:
    return [part for each in given for part in ("--set", each)]
