"""Which fault when: a pure function of the seed.

Faults are dealt like cards: each kind comes once before any comes again, so that also a short run sees most of them.
Those that last overlap with what comes meanwhile: a broker is killed while its store fails and its clock is wrong.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, TypeAlias

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
    "lag",  # Everything comes some 20 ms later.
    "clock_jump",
    "garbage",  # Bytes on the port that are no request.
    "recreate",  # A topic is deleted and made again.
    "delete_records",
    "suspend",  # As `freeze`, for longer, and the clock of intervals stands still meanwhile.
    "clock_days",  # The wall clock is off by up to a month, forward or back, for a while.
    "store_hangs",  # No call comes back.
    "store_denies",  # Nothing can be deleted, for many seconds, and a topic is deleted meanwhile.
    "store_errs",  # One answer has one wrong byte.
    "store_unmounted",  # The file system of the store goes, and comes back.
    "breather",  # Nothing disturbs: everybody who writes must be acknowledged soon.
    "clone",  # Two brokers on one store: a copy of a data directory is started beside the original.
    "usurp",  # … another broker takes over from one that is suspended, which then goes on.
    "set_back",  # … a data directory is set back to an older copy of itself.
)
SECURITY = (  # Where a run has a protected listener.
    "password",  # Of a user, while it is logged in.
    "denied",  # A right is taken away, and given back.
    "certificate",  # Another key and certificate.
    "certificate_broken",  # The file is half of what it was, for a while.
)
LAST = "half_delete"  # A topic is deleted while the store is away; nothing else that could heal it comes later.
ALL = (*KINDS, *SECURITY, LAST)
OFTEN = ("kill", "kill", "cut", "recreate", "delete_records")  # Come more often than the others.

HEALS = ("recreate", "store_denies", LAST)  # Deletions go on where another one is made.
LAST_BEFORE_S = 12.0  # From the last deletion to the end: time to pile up what it holds back.

ENDS = ("kill", "restart", "failed_fsync")  # After these there is a new process.
LONG_S = 240.0  # In a run as long as this one process lives through its last third: what piles up must be seen.

Bounds: TypeAlias = tuple[float, float]
GAP_S = (0.3, 2.2)  # Between the beginnings of two faults.
LAST_S = (0.2, 3.0)


class Planned(NamedTuple):
    """One fault."""

    at: float  # Seconds from the beginning.
    kind: str
    seconds: float  # How long it lasts, where it does.
    amount: float  # From 0 to 1: how bad it is.


def schedule(seed: int, seconds: float, kinds: Collection[str] = ALL, *, secured: bool = False) -> list[Planned]:
    """Faults of these kinds in the order of their times. A kind that is left out changes no other's place."""
    last = max(seconds - LAST_BEFORE_S, seconds / 2)
    found = [each for each in _dealt(seed, seconds, secured=secured) if each.kind in kinds]
    if LAST not in kinds:
        return found
    found = [each for each in found if each.at < last or each.kind not in HEALS]
    return sorted([*found, Planned(last, LAST, 1.0, 0.5)])


def _dealt(seed: int, seconds: float, *, secured: bool) -> list[Planned]:
    cards = [*KINDS, *OFTEN, *(SECURITY if secured else ())]
    plan = deal(random.Random(f"schedule {seed}"), seconds, cards, GAP_S, LAST_S)
    return [each for each in plan if not (each.kind in ENDS and seconds >= LONG_S and each.at > seconds * 2 / 3)]


def deal(
    chance: random.Random, seconds: float, cards: Sequence[str], gap_s: Bounds, last_s: Bounds
) -> Iterator[Planned]:
    """Faults as from a pack of cards: each kind comes as often as it is in there before any comes again."""
    deck: list[str] = []
    at = 1.0
    while True:
        at += chance.uniform(*gap_s)
        if at >= seconds:
            return
        if not deck:
            deck = list(cards)
            chance.shuffle(deck)
        yield Planned(round(at, 3), deck.pop(), round(chance.uniform(*last_s), 3), round(chance.random(), 3))
