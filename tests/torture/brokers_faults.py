"""What happens to several brokers on one store, and when: the schedule is a pure function of the seed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from tests.support.faulty_proxy import Fault
from tests.torture.brokers import TAKEOVER_MS, Brokers
from tests.torture.clients.administering import Administrator
from tests.torture.ground import PARTITIONS, Ground
from tests.torture.history import History
from tests.torture.schedule import Planned, deal

KINDS = (
    "kill",  # SIGKILL of one; a while later it is started again, on its own disk.
    "lose",  # … and its disk is gone.
    "lose_all",  # All of them at once, with their disks.
    "stop",  # SIGSTOP for longer than others wait, and SIGCONT.
    "nap",  # … for less.
    "cut_off",  # One cannot reach the store: its requests fail.
    "cut_silent",  # … or their answers never come.
    "store_errors",  # Some requests of one fail, done or not.
    "store_away",  # Nobody reaches the store.
    "store_slow",
    "drain",  # By the command; then it is stopped and started.
    "leave",  # SIGTERM, and a start.
    "move",  # One partition to another broker, by the command.
    "recreate",  # A topic is deleted and made again.
    "delete_records",
    "breather",  # Nothing disturbs: everybody who writes must be acknowledged soon.
)
OFTEN = ("kill", "stop", "cut_off", "move", "move", "lose")
GAP_S = (0.5, 4.0)  # Between the beginnings of two faults.
LAST_S = (0.2, 4.0)
STUCK_S = 40.0  # Above the time-outs of clients, a takeover, and one more behind it.
WRITERS = ("idem-a", "idem-b", "plain", "single", "short", "keyed")
MOVED = ("one", "txn", "copies")
_LOOK_S = 0.05
_LONGER, _START_S = 1.5, 120.0


def brokers_schedule(seed: int, seconds: float) -> list[Planned]:
    """Dealt like cards: each kind comes once before any comes again."""
    return list(deal(random.Random(f"brokers {seed}"), seconds, [*KINDS, *OFTEN], GAP_S, LAST_S))


class BrokersFaults:
    """Every kind is a method of the same name. What lasts is ended by a timer."""

    def __init__(self, brokers: Brokers, administrator: Administrator, history: History, ground: Ground) -> None:
        self._brokers = brokers
        self._administrator = administrator
        self._history = history
        self._ground = ground
        self._later: list[tuple[threading.Timer, Callable[[], None]]] = []
        self._away: set[int] = set()  # Killed on purpose, to be started by a timer.
        self._commands: list[threading.Thread] = []

    def run(self, plan: list[Planned], seconds: float) -> None:
        """The schedule, then quiet. Its clock stands still while a broker is started."""
        left, at = list(plan), 0.0
        deadline = time.monotonic() + _LONGER * seconds + _START_S  # A busy machine does not get to the end.
        while at < seconds and (now := time.monotonic()) < deadline:
            time.sleep(_LOOK_S)
            at += time.monotonic() - now
            self._brokers.revive(self._away)
            if left and left[0].at <= at:
                fault = left.pop(0)
                number = self._one(fault)
                facts = {"seconds": fault.seconds, "amount": fault.amount, "number": number}
                self._history.info("fault", fault=fault.kind, **facts)
                getattr(self, fault.kind)(fault, number)
        self.calm()

    def calm(self) -> None:
        """End everything that lasts, and have all brokers serve."""
        for timer, end in self._later:
            timer.cancel()
            timer.join()
            end()  # A second time changes nothing.
        self._later.clear()
        for number in self._brokers.numbers:
            self._brokers.reach(number)
            self._brokers.thaw(number)
        for thread in self._commands:
            thread.join()
        self._commands.clear()
        for number in sorted(self._away):
            self._start(number)
        self._brokers.revive(self._away)
        for number in self._brokers.numbers:
            self._brokers.listen(number)

    def finish(self) -> None:
        """The last clean stop: of all, one behind the other."""
        for number in self._brokers.numbers:
            self._brokers.stop(number)

    def _one(self, fault: Planned) -> int:
        numbers = self._brokers.numbers
        return numbers[int(fault.amount * 997) % len(numbers)]

    def _in(self, seconds: float, end: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        self._later.append((timer, end))

    def _start(self, number: int) -> None:
        with self._brokers.lock:
            self._brokers.start(number)
            self._away.discard(number)

    def _end(self, number: int, *, with_disk: bool = False) -> None:
        with self._brokers.lock:
            self._away.add(number)
            self._brokers.kill(number, with_disk=with_disk)

    def _stop(self, number: int) -> None:
        """In one go: a timer of an earlier fault may have started it meanwhile, and it counts as back then."""
        with self._brokers.lock:
            self._away.add(number)
            self._brokers.stop(number)

    def _beside(self, name: str, run: Callable[[], None]) -> None:
        """A command takes its time, and the schedule goes on."""
        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        self._commands.append(thread)

    # Processes and machines

    def kill(self, fault: Planned, number: int) -> None:
        self._end(number)
        self._in(fault.seconds * 2, lambda: self._start(number))

    def lose(self, fault: Planned, number: int) -> None:
        self._end(number, with_disk=True)
        self._in(fault.seconds * 2, lambda: self._start(number))

    def lose_all(self, fault: Planned, number: int) -> None:
        for each in self._brokers.numbers:
            self._end(each, with_disk=True)

        def start() -> None:
            for each in self._brokers.numbers:
                self._start(each)

        self._in(fault.seconds / 2, start)

    def stop(self, fault: Planned, number: int) -> None:
        process = self._brokers.freeze(number)
        self._in(TAKEOVER_MS / 1000 + fault.seconds * 2, lambda: self._brokers.thaw(number, process))

    def nap(self, fault: Planned, number: int) -> None:
        process = self._brokers.freeze(number)
        self._in(fault.seconds / 4, lambda: self._brokers.thaw(number, process))

    def leave(self, fault: Planned, number: int) -> None:
        self._stop(number)
        self._in(fault.seconds, lambda: self._start(number))

    def drain(self, fault: Planned, number: int) -> None:
        """Whoever is drained leads nothing until it is started anew."""
        if number in self._away:
            return
        self._away.add(number)

        def run() -> None:
            told = self._brokers.command("drain", str(number), "--seconds", "20")
            self._history.info("command", what="drain", number=number, code=told.returncode, said=told.stderr[-300:])
            self._stop(number)
            self._start(number)

        self._beside("drain", run)

    def move(self, fault: Planned, number: int) -> None:
        topic = MOVED[int(fault.amount * 7919) % len(MOVED)]
        partition = int(fault.amount * 104729) % PARTITIONS

        def run() -> None:
            told = self._brokers.command("move", f"{topic}:{partition}", str(number))
            self._history.info("command", what="move", number=number, code=told.returncode, said=told.stderr[-300:])

        self._beside("move", run)

    # Their ways to the store

    def cut_off(self, fault: Planned, number: int) -> None:
        self._brokers.disturb(number, lambda method, path: Fault.CUT_BEFORE_REQUEST)
        self._in(TAKEOVER_MS / 1000 + fault.seconds * 2, lambda: self._brokers.reach(number))

    def cut_silent(self, fault: Planned, number: int) -> None:
        self._brokers.disturb(number, lambda method, path: Fault.HOLD_ANSWER)
        self._in(TAKEOVER_MS / 1000 + fault.seconds, lambda: self._brokers.reach(number))

    def store_errors(self, fault: Planned, number: int) -> None:
        self._brokers.fail(number, 0.05 + 0.25 * fault.amount)
        self._in(fault.seconds * 2, lambda: self._brokers.reach(number))

    def store_away(self, fault: Planned, number: int) -> None:
        for each in self._brokers.numbers:
            self._brokers.disturb(each, lambda method, path: Fault.CUT_BEFORE_REQUEST)
            self._in(fault.seconds * 1.5, lambda each=each: self._brokers.reach(each))

    def store_slow(self, fault: Planned, number: int) -> None:
        for each in self._brokers.numbers:
            self._brokers.slow(each, 0.2 * fault.amount)
            self._in(fault.seconds * 2, lambda each=each: self._brokers.reach(each))

    # Topics

    def recreate(self, fault: Planned, number: int) -> None:
        self._administrator.tell("recreate", fault.amount)

    def delete_records(self, fault: Planned, number: int) -> None:
        self._administrator.tell("delete_records", fault.amount)

    def breather(self, fault: Planned, number: int) -> None:
        """End what disturbs, and see that everybody who writes is acknowledged."""
        self.calm()
        began = time.monotonic()
        waiting = set(WRITERS)
        while waiting and time.monotonic() < began + STUCK_S:
            time.sleep(_LOOK_S)
            waiting = {name for name in waiting if self._ground.histories[name].ok_at < began}
        self._history.info("breather", seconds=time.monotonic() - began, stuck=sorted(waiting))
