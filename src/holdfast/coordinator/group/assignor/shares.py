"""Things dealt out in equal shares to members that all may have any of them; who has something keeps it if it can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def share(current: Mapping[str, Sequence[T]], things: Iterable[T]) -> dict[str, list[T]]:
    """No two members differ by more than one, and as few things move as that allows.

    `current` has every member, in the order in which they are served.
    """
    everything = list(things)
    left = dict.fromkeys(everything)
    low, extra = divmod(len(everything), len(current))
    shares: dict[str, list[T]] = {}
    for member, before in current.items():
        kept = [each for each in before if each in left][: low + 1]
        if len(kept) > low:
            if extra:
                extra -= 1
            else:
                kept.pop()
        for each in kept:
            del left[each]
        shares[member] = kept
    _deal(shares, list(left), low, extra)
    return shares


def _deal(shares: dict[str, list[T]], left: list[T], low: int, extra: int) -> None:
    """Runs of what is left over, in the order of the members."""
    at = 0
    for own in shares.values():
        size = low
        if extra and len(own) <= low:
            size += 1
            extra -= 1
        end = at + max(size - len(own), 0)
        own += left[at:end]
        at = end
