"""Several processes that take turns at every call to the store, as one seed says, and may be stopped at any of them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from holdfast.errors import HoldfastError
from holdfast.io.objects import ObjectInfo, Objects, StoreFailed
from holdfast.types import Buffer


class Killed(BaseException):
    """The process is gone."""


class Actor:
    """One thread of one process. It runs only when it is its turn."""

    def __init__(self, turns: Turns, work: Callable[[], None]) -> None:
        self._turns = turns
        self._work = work
        self._go = threading.Semaphore(0)
        self.is_over = False
        self.is_killed = False
        self.sleeps_until = 0  # In turns.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self.is_killed:
                self._work()
        except Killed:
            pass
        except BaseException as failure:
            self._turns.failures.append(failure)
        self.is_over = True
        self._turns.back.release()

    def turn(self) -> None:
        """Let it run up to its next call. Called by whoever holds the turns."""
        self._turns.current = self
        self._go.release()
        self._turns.back.acquire()

    def wait(self) -> None:
        """Called by the actor itself: somebody else's turn."""
        self._turns.back.release()
        self._go.acquire()
        if self.is_killed:
            raise Killed


class Turns:
    """Whose turn it is."""

    def __init__(self, chance: random.Random) -> None:
        self._random = chance
        self.back = threading.Semaphore(0)
        self.actors: list[Actor] = []
        self.current: Actor | None = None
        self.failures: list[BaseException] = []
        self.count = 0
        self.late: list[Callable[[], object]] = []  # Requests whose callers were told that they have failed.
        self.fault_share = self.sleep_share = 0.0

    def begin(self, work: Callable[[], None]) -> Actor:
        actor = Actor(self, work)
        self.actors.append(actor)
        return actor

    def next(self, among: Sequence[Actor] | None = None) -> bool:
        """Somebody makes one call; False if nobody can."""
        self.count += 1
        if self.late and self._random.random() < 0.02:
            with suppress(HoldfastError):
                self.late.pop(self._random.randrange(len(self.late)))()
        self.actors = [each for each in self.actors if not each.is_over]
        able = [each for each in (self.actors if among is None else among) if not each.is_over and not each.is_killed]
        awake = [each for each in able if each.sleeps_until <= self.count]
        if not able:
            return False
        actor = self._random.choice(awake or able)
        if self._random.random() < self.sleep_share:
            actor.sleeps_until = self.count + self._random.choice((10, 60, 300))
            return True
        actor.turn()
        if self.failures:
            raise self.failures[0]
        return True

    def step(self) -> None:
        assert self.current is not None
        self.current.wait()

    def end(self) -> None:
        """Let all threads end."""
        for actor in self.actors:
            if not actor.is_over:
                actor.is_killed = True
                actor.turn()


class SteppedObjects:
    """The store as one process sees it: each call waits for its turn, may fail, and may arrive late."""

    def __init__(self, inner: Objects, turns: Turns, chance: random.Random) -> None:
        self.url = inner.url
        self._inner = inner
        self._turns = turns
        self._random = chance

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        self._change("put", name, lambda: self._inner.put_if_absent(name, data))

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        self._change("put", name, lambda: self._inner.put(name, data))

    def delete(self, name: str) -> None:
        self._change("delete", name, lambda: self._inner.delete(name))

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        self._before("get", name)
        return self._inner.get(name, start, end)

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        self._before("list", prefix)
        return iter(list(self._inner.list(prefix, after)))

    def size(self, name: str) -> int:
        self._before("size", name)
        return self._inner.size(name)

    def _before(self, kind: str, name: str) -> None:
        self._turns.step()
        if self._random.random() < self._turns.fault_share / 2:
            raise StoreFailed(kind, name, "before it took effect")

    def _change(self, kind: str, name: str, change: Callable[[], None]) -> None:
        self._turns.step()
        drawn, share = self._random.random(), self._turns.fault_share
        if drawn < share:
            raise StoreFailed(kind, name, "before it took effect")
        if drawn < 2 * share:
            self._turns.late.append(change)
            raise StoreFailed(kind, name, "while it is under way")
        lost = drawn < 3 * share
        try:
            change()
        except HoldfastError:
            if lost:
                raise StoreFailed(kind, name, "and the answer was lost") from None
            raise
        finally:
            if self._random.random() < 0.3:
                self._turns.step()  # A pause between what happened and what is heard of it.
        if lost:
            raise StoreFailed(kind, name, "after it took effect")
