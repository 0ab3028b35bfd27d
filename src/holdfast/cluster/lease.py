"""Leases: objects by which lives say, again and again, that they live. And whether one of them has fallen silent.

    brokers/<broker>-<life:020>.json      overwritten by its life only, deleted after its end

A lease decides when to try a takeover and when to stop answering, never who may write: that is decided by numbers that
can be taken only once. So no clock is compared with another; a beat is a number that grows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from holdfast.io.envelope import seal, unseal
from holdfast.io.objects import NotFound, Objects
from holdfast.io.store_errors import Damaged

PREFIX: Final = "brokers/"
KIND: Final = "lease"
FORMAT: Final = 1

LOOKS_MIN: Final = 4  # So many looks that succeeded show the same beat before a life counts as silent.


@dataclass(frozen=True, slots=True)
class Lease:
    """What a life says of itself."""

    broker: int
    life: int
    beat: int
    state: str = "waiting"  # Or leading.
    version: int = -1  # Of the metadata that it has seen.
    unreachable: tuple[int, ...] = ()  # Brokers that it cannot reach.
    subscribe: str | None = None  # HOST:PORT for subscribers; "": it serves none; None: it has not said so yet.
    release: str | None = None  # Of the software; None in leases of releases that did not say it.

    @property
    def object_name(self) -> str:
        return lease_name(self.broker, self.life)

    def encode(self) -> bytes:
        body = {"broker": self.broker, "life": self.life, "beat": self.beat, "state": self.state}
        rest = {"version": self.version, "unreachable": list(self.unreachable)}
        optional = {"subscribe": self.subscribe, "release": self.release}
        told = {name: value for name, value in optional.items() if value is not None}
        return seal(KIND, FORMAT, body | rest | told)


def lease_name(broker: int, life: int) -> str:
    return f"{PREFIX}{broker}-{life:020}.json"


def read_lease(objects: Objects, broker: int, life: int) -> Lease | None:
    """What a life said last; None if it never did, or nobody can read it."""
    name = lease_name(broker, life)
    try:
        body = unseal(name, KIND, FORMAT, objects.get(name))
        unreachable = tuple(body.get("unreachable", ()))  # Not in those of the release before.
        rest = body["state"], body["version"], unreachable, body.get("subscribe"), body.get("release")
        return Lease(body["broker"], body["life"], body["beat"], *rest)
    except (NotFound, Damaged, KeyError):
        return None


class BeatWatch:
    """One life as another sees it. Time counts only between two looks that succeeded, and not while we slept."""

    def __init__(self, silence_s: float, interval_s: float) -> None:
        self._silence_s = silence_s
        self._step_s_max = 2 * interval_s  # A longer one is our own pause, not its silence.
        self._beat: int | None = None
        self._looked_at: float | None = None
        self._looks = 0
        self.silent_s = 0.0

    def saw(self, beat: int | None, now: float) -> None:
        """A look has found this beat, or no lease."""
        if self._looks == 0 or beat != self._beat:
            self._beat, self._looks, self.silent_s = beat, 0, 0.0
        elif self._looked_at is not None:
            self.silent_s += min(now - self._looked_at, self._step_s_max)
        self._looks += 1
        self._looked_at = now

    def missed(self) -> None:
        """A look has failed: the store may be away, and the life cannot be told from a dead one."""
        self._looked_at = None

    @property
    def is_silent(self) -> bool:
        return self.silent_s >= self._silence_s and self._looks > LOOKS_MIN

    def left_s(self, now: float) -> float:
        """How long it takes until it is silent, if it says nothing more; infinite while that is far off, or behind."""
        if self._looked_at is None or self._looks < LOOKS_MIN or self.is_silent:
            return math.inf
        return max(self._silence_s - self.silent_s - (now - self._looked_at), 0.0)
