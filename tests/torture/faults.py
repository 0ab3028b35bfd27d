"""Carries out the schedule: one thread, that also starts a broker again whenever it has ended."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.torture.clients.administering import Administrator
from tests.torture.clients.sending import SECURED
from tests.torture.controls import NAMES, Controls
from tests.torture.disk import MountedDisk, WrappedDisk
from tests.torture.duel import Duel
from tests.torture.garbage import throw_garbage
from tests.torture.ground import Ground
from tests.torture.history import History
from tests.torture.proxy import Proxy
from tests.torture.schedule import Planned
from tests.torture.secured import SecuredListener
from tests.torture.starting import start_patiently
from tests.torture.store import DirectoryStore

from holdfast.testing import BrokerDidNotStart, RunningBroker

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
STUCK_S = 30.0  # A producer that waits for longer while nothing disturbs is stuck; its own time-outs are 10 s.
WRITERS = ("idem-a", "idem-b", "plain", "single", "short", "keyed")  # Who must not wait for longer than that.
_SLEEPS, _DENIES = 3, 8  # Times as long as others.
_LOOK_S = 0.05
_LONGER, _START_S = 1.25, 60.0
_NEVER = ("Traceback", "never retrieved", "was never awaited", "Exception in callback")  # Lines that tell of a bug.


class Faults:
    """Every kind is a method of the same name. What lasts is ended by a timer."""

    def __init__(
        self,
        broker: RunningBroker,
        controls: Controls,
        disk: MountedDisk | WrappedDisk,
        store: DirectoryStore,
        proxies: tuple[Proxy, ...],
        administrator: Administrator,
        history: History,
        chance: random.Random,
        ground: Ground,
        folder: Path,
    ) -> None:
        self._broker = broker
        self._controls = controls
        self._disk = disk
        self._store = store
        self._proxies = proxies
        self._administrator = administrator
        self._history = history
        self._chance = chance
        self._ground = ground
        self._folder = folder
        self._duelling: threading.Thread | None = None
        self._duels = 0
        self._securing: threading.Thread | None = None
        self._later: list[threading.Timer] = []  # What ends a fault that lasts.
        self._fsync_armed = False
        self._heard = 0
        self._woken: set[float] = set()  # When those sleeps began that are over.

    def run(self, plan: list[Planned], seconds: float) -> None:
        """The schedule, then quiet. Its clock stands still while a broker starts, or faults would pile up there."""
        left, at = list(plan), 0.0
        deadline = time.monotonic() + _LONGER * seconds + _START_S  # A busy machine does not get to the end.
        while at < seconds and (now := time.monotonic()) < deadline:
            time.sleep(_LOOK_S)
            at += time.monotonic() - now
            self._revive()
            if left and left[0].at <= at:
                fault = left.pop(0)
                self._history.info("fault", fault=fault.kind, seconds=fault.seconds, amount=fault.amount)
                getattr(self, fault.kind)(fault)
        self.calm()

    def end_duel(self) -> None:
        if self._duelling is not None:
            self._duelling.join()

    def calm(self) -> None:
        """End everything that lasts, and have a broker that serves."""
        for timer in self._later:
            timer.cancel()
            timer.function()  # A second time changes nothing.
        self._later.clear()
        self._quiet()
        self._revive()

    def _quiet(self) -> None:
        if self._ground.secured is not None:
            self._ground.secured.quiet()
        self._controls.quiet(*(name for name in NAMES if name != "slept_s"))  # Time that is lost does not come back.
        self._disk.quiet()
        self._store.quiet()

    def _in(self, seconds: float, end: Callable[[], None]) -> None:
        """In a thread of its own: a start must not make a fault last longer."""
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        self._later.append(timer)

    # The broker's process

    def kill(self, fault: Planned) -> None:
        if self._broker.is_running:
            self._history.info("broker", event="killed", expected=True)
            self._broker.kill()
            self._listen()
        time.sleep(fault.seconds / 6)
        self.start()

    def kill_and_start(self) -> None:
        """Once more, when everything else is over: what was read must be there again."""
        self.kill(Planned(0, "kill", 0, 0))

    def finish(self) -> None:
        """The last clean stop."""
        self._revive()
        code = self._broker.stop(timeout=60)
        self._listen()
        self._history.info("broker", event="stopped", expected=code == 0, code=code, said=self._broker.said[-5:])

    def restart(self, fault: Planned) -> None:
        if self._broker.is_running:
            self._history.info("broker", event="stopped", expected=True)
            self._broker.signal(signal.SIGCONT)
            code = self._broker.stop(timeout=60)
            self._listen()
            if code and not self._fsync_armed:
                self._history.info("broker", event="ended", expected=False, code=code, said=self._broker.said[-5:])
        self.start()

    def freeze(self, fault: Planned) -> None:
        if self._broker.is_running:
            self._broker.signal(signal.SIGSTOP)
            process = self._broker.pid
            self._in(fault.seconds * 2, lambda: self._thaw(process))

    def _thaw(self, process: int) -> None:
        if self._broker.is_running and self._broker.pid == process:
            self._broker.signal(signal.SIGCONT)

    def suspend(self, fault: Planned) -> None:
        """The machine sleeps: the process stands still, and its clock of intervals, too; the wall clock does not."""
        if self._broker.is_running:
            self._broker.signal(signal.SIGSTOP)
            process, began = self._broker.pid, time.monotonic()
            self._in(fault.seconds * _SLEEPS, lambda: self._wake(process, began))

    def _wake(self, process: int, began: float) -> None:
        if self._broker.is_running and self._broker.pid == process and began not in self._woken:
            self._woken.add(began)
            self._controls["slept_s"] += time.monotonic() - began
        self._thaw(process)

    def start(self) -> None:
        """A start may fail while its disk or store does; then it is made again without that."""
        self._disk.quiet()
        if self._ground.secured is not None:
            self._ground.secured.quiet()  # With a broken certificate no broker starts.
        self._controls.quiet("sync_fails")
        if self._store.is_away:
            self._store.quiet()
        self._fsync_armed = False
        disturbed = self._store.is_disturbed
        try:
            start_patiently(self._broker)
        except BrokerDidNotStart as failure:
            self._history.info("broker", event="not started", expected=disturbed, said=list(failure.said[-5:]))
            self._quiet()
            start_patiently(self._broker)
        self._heard = 0 if len(self._broker.said) < self._heard else self._heard
        self._history.info("broker", event="started", expected=True)

    def _revive(self) -> bool:
        """Start a broker that has ended by itself: after a failed fsync it must, otherwise it must not."""
        if self._broker.is_running:
            return False
        with contextlib.suppress(AssertionError):
            self._broker.wait()
        self._listen()
        self._history.info("broker", event="failed", expected=self._fsync_armed, said=self._broker.said[-5:])
        self.start()
        return True

    def _listen(self) -> None:
        """Look for words that a broker should never have to say."""
        said = list(self._broker.said)
        for at in range(self._heard, len(said)):
            if any(word in said[at] for word in _NEVER):
                self._history.info("said", line="\n".join(said[at : at + 60]))
        self._heard = len(said)

    # Its disk, its store, its clock

    def slow_disk(self, fault: Planned) -> None:
        self._controls["sync_delay_ms"] = 20 + 400 * fault.amount
        self._in(fault.seconds, lambda: self._controls.quiet("sync_delay_ms"))

    def failed_fsync(self, fault: Planned) -> None:
        self._fsync_armed = True
        self._controls["sync_fails"] = 1

    def disk_low(self, fault: Planned) -> None:
        self._disk.low()
        self._in(fault.seconds, self._disk.quiet)

    def disk_full(self, fault: Planned) -> None:
        self._disk.full()
        self._in(fault.seconds, self._disk.quiet)

    def store_errors(self, fault: Planned) -> None:
        self._store.errors(fault.amount)
        self._in(fault.seconds, self._store.quiet)

    def store_away(self, fault: Planned) -> None:
        self._store.away()
        self._in(fault.seconds, self._store.quiet)

    def store_slow(self, fault: Planned) -> None:
        self._store.slow(fault.amount)
        self._in(fault.seconds, self._store.quiet)

    def clock_jump(self, fault: Planned) -> None:
        """Up to an hour, forward or back; it stays so until the next jump."""
        self._controls["clock_jump_ms"] = (fault.amount - 0.5) * 2 * HOUR_MS

    def clock_days(self, fault: Planned) -> None:
        """Up to a month, forward or back, for a few seconds."""
        self._controls["clock_jump_ms"] = (fault.amount - 0.5) * 60 * DAY_MS
        self._in(fault.seconds * 2, lambda: self._controls.quiet("clock_jump_ms"))

    def store_hangs(self, fault: Planned) -> None:
        self._store.hang()
        self._in(fault.seconds * 2, self._store.quiet)

    def store_errs(self, fault: Planned) -> None:
        self._store.err()

    def store_unmounted(self, fault: Planned) -> None:
        self._store.unmount()
        self._in(fault.seconds, self._store.quiet)

    def store_denies(self, fault: Planned) -> None:
        """For so long that a topic is deleted, and much is written, meanwhile."""
        self._store.deny(on=True)
        self._administrator.tell("recreate", fault.amount)
        self._in(fault.seconds * _DENIES, lambda: self._store.deny(on=False))

    def breather(self, fault: Planned) -> None:
        """End what disturbs, and see that everybody who writes is acknowledged. That nothing can be deleted, and that
        a clock is wrong by an hour, are no excuses: they stay as they are."""
        denies, jump = self._controls["store_denies"], self._controls["clock_jump_ms"]
        self.calm()
        if self._securing is not None:
            self._securing.join()  # A right that is given back counts from then on.
        self._controls["clock_jump_ms"] = jump if abs(jump) <= HOUR_MS else 0
        self._store.deny(on=bool(denies))
        if denies:
            self._in(_DENIES, lambda: self._store.deny(on=False))
        began = time.monotonic()
        everybody = {*WRITERS, *(() if self._ground.secured is None else (SECURED,))}
        waiting = set(everybody)
        while waiting and time.monotonic() < began + STUCK_S:
            time.sleep(_LOOK_S)
            if self._revive():  # It was on its way out: an fsync had failed before.
                began, waiting = time.monotonic(), set(everybody)
            waiting = {name for name in waiting if self._ground.histories[name].ok_at < began}
        self._history.info("breather", seconds=time.monotonic() - began, stuck=sorted(waiting))

    # Two brokers on one store

    def clone(self, fault: Planned) -> None:
        self._duel("clone", fault)

    def usurp(self, fault: Planned) -> None:
        self._duel("usurp", fault)

    def set_back(self, fault: Planned) -> None:
        self._duel("set_back", fault)

    def _duel(self, kind: str, fault: Planned) -> None:
        """In a world of their own, beside all the rest; one behind the other."""
        self._duels += 1
        duel = Duel(self._folder / f"{kind}-{self._duels}", kind, random.Random(fault.amount))
        before = self._duelling

        def run() -> None:
            if before is not None:
                before.join()
            duel.run(self._history)

        self._duelling = threading.Thread(target=run, name=kind, daemon=True)
        self._duelling.start()

    # Its clients

    def cut(self, fault: Planned) -> None:
        for proxy in self._proxies:
            proxy.cut(every=1 + int(fault.amount * 3))

    def hold(self, fault: Planned) -> None:
        for proxy in self._proxies:
            proxy.hold(on=True)
            self._in(fault.seconds, lambda proxy=proxy: proxy.hold(on=False))

    def lag(self, fault: Planned) -> None:
        for proxy in self._proxies:
            proxy.lag_s = 0.01 + 0.03 * fault.amount
        self._in(fault.seconds * 2, self._no_lag)

    def _no_lag(self) -> None:
        for proxy in self._proxies:
            proxy.lag_s = 0.0

    def garbage(self, fault: Planned) -> None:
        throw_garbage(self._broker.port, self._chance, 1 + int(fault.amount * 8))

    def recreate(self, fault: Planned) -> None:
        self._administrator.tell("recreate", fault.amount)

    # Its protected listener

    def password(self, fault: Planned) -> None:
        self._secure(lambda secured: secured.change_password(self._ground.bootstrap))

    def denied(self, fault: Planned) -> None:
        self._secure(lambda secured: secured.deny(self._ground.bootstrap))
        self._in(fault.seconds, lambda: self._secure(lambda secured: secured.allow(self._ground.bootstrap)))

    def certificate(self, fault: Planned) -> None:
        self._secure(lambda secured: secured.renew())

    def certificate_broken(self, fault: Planned) -> None:
        if self._ground.secured is not None:
            self._ground.secured.break_files()
            self._in(fault.seconds, self._ground.secured.quiet)

    def _secure(self, change: Callable[[SecuredListener], None]) -> None:
        """One behind the other, beside all the rest: a broker that is killed must be started meanwhile."""
        secured, before = self._ground.secured, self._securing
        if secured is None:
            return

        def run() -> None:
            if before is not None:
                before.join()
            change(secured)

        self._securing = threading.Thread(target=run, name="security", daemon=True)
        self._securing.start()

    def half_delete(self, fault: Planned) -> None:
        self._administrator.tell("half_delete", fault.amount)

    def delete_records(self, fault: Planned) -> None:
        self._administrator.tell("delete_records", fault.amount)
