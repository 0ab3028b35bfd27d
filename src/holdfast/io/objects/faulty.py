"""An object store that fails on a test's plan: a simulation, as the simulated disk is one.

It injects, before or after a call has reached the inner store:
    FailBefore   StoreFailed, and the inner store was not asked
    FailAfter    the inner store answered, and the answer got lost: StoreFailed; a listing fails behind its last name
    FailEarly    StoreFailed, and the inner store is asked later, when the test says `arrive()`; for puts and deletes
    Delay        the call waits, for as long as the test's own function does, before the inner store is asked: a store
                 that hangs is one whose `Event` nobody sets
    WrongByte    a get's answer has one byte that is not the object's: memory, a cable or a proxy was wrong, once

It does not inject short bytes, names out of order or partial objects (a store never gives them), nor `Exists` for an
own object (the HTTP proxy in the tests does). An object that is wrong for good is put that way into the inner store.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar, cast

from holdfast.errors import HoldfastError
from holdfast.io.chance import Chance
from holdfast.io.objects import ObjectInfo, Objects, StoreFailed
from holdfast.io.objects.names import check_prefix
from holdfast.types import Buffer

_Answer = TypeVar("_Answer")


class Call(NamedTuple):
    """One call as a plan sees it."""

    number: int  # Counts from 0, over all calls of one FaultyObjects.
    kind: str  # The method's name: put_if_absent, put, get, list, delete, size.
    name: str


@dataclass(frozen=True)
class FailBefore:
    """The store is not reached."""


@dataclass(frozen=True)
class FailAfter:
    """The store does it, and the answer gets lost."""


@dataclass(frozen=True)
class FailEarly:
    """The caller is told of a failure while the request is still on its way."""


@dataclass(frozen=True)
class Delay:
    """The call waits until this function returns: an Event's `wait`, for instance."""

    wait: Callable[[], object]


@dataclass(frozen=True)
class WrongByte:
    """A get's answer has these bits of one byte flipped; `at` counts as an index does, so -1 is the last byte."""

    at: int = 0
    bits: int = 0xFF

    def of(self, data: bytes) -> bytes:
        if not -len(data) <= self.at < len(data):
            return data
        wrong = bytearray(data)
        wrong[self.at] ^= self.bits
        return bytes(wrong)


Fault: TypeAlias = FailBefore | FailAfter | FailEarly | Delay | WrongByte
Plan: TypeAlias = Callable[[Call], Fault | None]


def in_order(faults: Iterable[Fault | None]) -> Plan:
    """A plan from a list: one entry for each call; behind the end nothing fails."""
    left = iter(faults)
    return lambda _: next(left, None)


def once(kind: str, within: str, fault: Fault) -> Plan:
    """A plan for the first call of this kind whose name has `within` in it; all others get through."""
    left = [fault]
    return lambda call: left.pop() if left and call.kind == kind and within in call.name else None


def by_chance(chance: Chance, before: float, after: float) -> Plan:
    """A plan that fails at random, the same way for the same seed: these fractions of all calls."""

    def plan(_: Call) -> Fault | None:
        drawn = chance.fraction()
        if drawn < before:
            return FailBefore()
        return FailAfter() if drawn < before + after else None

    return plan


class FaultyObjects:
    """Passes calls on to `inner`, and does to them what the plan says. Plans are asked one call at a time."""

    def __init__(self, inner: Objects, plan: Plan) -> None:
        self.url = inner.url
        self._inner = inner
        self._plan = plan
        self._number = 0
        self._under_way: Sequence[Callable[[], object]] = ()
        self._lock = threading.Lock()

    def arrive(self) -> None:
        """Let the requests that failed early reach the inner store, in the order in which they were made."""
        with self._lock:
            calls, self._under_way = self._under_way, ()
        for call in calls:
            with contextlib.suppress(HoldfastError):  # Nobody waits for the answer any more.
                call()

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        self._through("put_if_absent", name, lambda: self._inner.put_if_absent(name, data))

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        self._through("put", name, lambda: self._inner.put(name, data))

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        return self._through("get", name, lambda: self._inner.get(name, start, end))

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        check_prefix(prefix)
        return self._listed(prefix, after)

    def delete(self, name: str) -> None:
        self._through("delete", name, lambda: self._inner.delete(name))

    def size(self, name: str) -> int:
        return self._through("size", name, lambda: self._inner.size(name))

    def _listed(self, prefix: str, after: str) -> Iterator[ObjectInfo]:
        fault = self._before("list", prefix)
        yield from self._inner.list(prefix, after)
        if isinstance(fault, FailAfter):
            raise StoreFailed("list", prefix, "a planned fault, behind the last name")

    def _through(self, kind: str, name: str, call: Callable[[], _Answer]) -> _Answer:
        fault = self._before(kind, name)
        if isinstance(fault, FailEarly):
            with self._lock:
                self._under_way = (*self._under_way, call)
            raise StoreFailed(kind, name, "a planned fault, while it is under way")
        if isinstance(fault, FailAfter):
            with contextlib.suppress(HoldfastError):  # Whatever the answer was, it got lost.
                call()
            raise StoreFailed(kind, name, "a planned fault, after it took effect")
        answer = call()
        if isinstance(fault, WrongByte) and isinstance(answer, bytes):
            return cast("_Answer", fault.of(answer))
        return answer

    def _before(self, kind: str, name: str) -> Fault | None:
        with self._lock:
            fault = self._plan(Call(self._number, kind, name))
            self._number += 1
        if isinstance(fault, FailBefore):
            raise StoreFailed(kind, name, "a planned fault, before it took effect")
        if isinstance(fault, Delay):
            fault.wait()
        return fault
