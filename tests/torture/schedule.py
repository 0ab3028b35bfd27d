"""Which fault when: a pure function of the seed.

Faults are dealt like cards: each kind comes once before any comes again, so that also a short run sees most of them.
Those that last overlap with what comes meanwhile: a broker is killed while its store fails and its clock is wrong.
"""

from __future__ import annotations

import random
from typing import NamedTuple

KINDS = (
    "kill",  # SIGKILL; `seconds` later it is started again.
    "restart",  # A clean stop, and a start.
    "freeze",  # SIGSTOP, SIGCONT.
    "slow_disk",
    "failed_fsync",
    "disk_low",  # The disk says that little is free.
    "disk_full",  # Writes find no space.
    "store_errors",  # Some calls fail, some after they took effect, some arrive late.
    "store_away",  # All calls fail.
    "store_slow",
    "cut",  # Connections are reset.
    "hold",  # Nothing goes through.
    "clock_jump",
    "garbage",  # Bytes on the port that are no request.
    "recreate",  # A topic is deleted and made again.
    "delete_records",
)
OFTEN = ("kill", "kill", "cut", "recreate", "delete_records")  # Come more often than the others.

ENDS = ("kill", "restart", "failed_fsync")  # After these there is a new process.
LONG_S = 240.0  # In a run as long as this one process lives through its last third: what piles up must be seen.

GAP_S = (0.3, 2.2)  # Between the beginnings of two faults.
LAST_S = (0.2, 3.0)


class Planned(NamedTuple):
    """One fault."""

    at: float  # Seconds from the beginning.
    kind: str
    seconds: float  # How long it lasts, where it does.
    amount: float  # From 0 to 1: how bad it is.


def schedule(seed: int, seconds: float) -> list[Planned]:
    """Faults in the order of their times."""
    chance = random.Random(f"schedule {seed}")
    plan: list[Planned] = []
    deck: list[str] = []
    at = 1.0
    while True:
        at += chance.uniform(*GAP_S)
        if at >= seconds:
            return plan
        if not deck:
            deck = [*KINDS, *OFTEN]
            chance.shuffle(deck)
        fault = Planned(round(at, 3), deck.pop(), round(chance.uniform(*LAST_S), 3), round(chance.random(), 3))
        if not (fault.kind in ENDS and seconds >= LONG_S and at > seconds * 2 / 3):
            plan.append(fault)
