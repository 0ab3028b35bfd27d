"""The rule of put-if-absent: numbered versions, each taken once, and the newest found in a few requests.

A version's number is taken by whoever puts it first. Every version says who wrote it (`Stamp`), so that a writer who
got no clear answer reads the version and knows:

    its own nonce             the put had succeeded
    a higher epoch            fenced: stop
    anybody else              taken: load it, check the change against it, take the next number
    absent                    put the same bytes again, a bounded number of times

Numbers from the newest full list on are never deleted. Older ones are, after `grace_s`; a writer that has not seen the
newest version for half of that must list again, or it might take a number that was used and deleted (`fresh_until`).
A request's deadline must be shorter than the other half.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.errors import Unavailable
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.io.objects import Exists, NotFound, Objects
from holdfast.io.store_errors import HigherEpoch, Stale, Undecided
from holdfast.types import Buffer

FULL_EVERY = 64  # Versions whose number this divides carry everything; all others, all changes since such a one.
GRACE_S = 3600.0

_HINT = "newest.json"


class Stamp(NamedTuple):
    """Who wrote a version."""

    epoch: int
    writer: str
    nonce: str


@dataclass(frozen=True)
class Patience:
    """How a writer waits between tries: twice as long each time, up to a limit, shortened by chance."""

    clock: Clock
    chance: Chance
    wait: Callable[[float], object]  # Blocks for so many seconds; may raise to give up at once.
    tries: int = 6
    wait_s: float = 0.05
    wait_s_max: float = 2.0

    def pause(self, tries_done: int) -> None:
        self.wait(min(self.wait_s_max, self.wait_s * 2**tries_done) * (0.5 + self.chance.fraction() / 2))


def take(
    objects: Objects,
    name: str,
    data: Sequence[Buffer],
    mine: Stamp,
    stamp_of: Callable[[str, bytes], Stamp],
    patience: Patience,
    fresh_until: float,
) -> bytes | None:
    """Take a version's name. None: it is ours. Bytes: they are there already, from another writer.

    Raises HigherEpoch when that writer fences us, Stale when the versions must be listed first, Undecided when the
    store never gave a clear answer: then the put may still take effect, now or later.
    """
    cause: Exception | None = None
    for tries_done in range(patience.tries):
        if patience.clock.monotonic() > fresh_until:
            raise Stale(name)
        try:
            objects.put_if_absent(name, data)
            return None
        except (Exists, Unavailable) as failure:
            cause = failure
        try:
            found = objects.get(name)
        except NotFound:
            if isinstance(cause, Exists):  # It was there and is deleted: an old number, which only a listing can tell.
                raise Stale(name) from cause
        except Unavailable as failure:
            cause = failure
        else:
            return _judge(name, found, mine, stamp_of(name, found))
        if tries_done + 1 < patience.tries:
            patience.pause(tries_done)
    raise Undecided(name, patience.tries, cause)


def _judge(name: str, found: bytes, mine: Stamp, theirs: Stamp) -> bytes | None:
    if theirs.nonce == mine.nonce:
        return None
    if theirs.epoch > mine.epoch:
        raise HigherEpoch(name, mine.epoch, theirs.epoch)
    return found


@dataclass(frozen=True)
class Versions:
    """The numbered objects under one prefix, such as `manifests/<topic>/<partition>/`."""

    objects: Objects
    prefix: str
    suffix: str = ".json"

    def name(self, number: int) -> str:
        return f"{self.prefix}{number:020}{self.suffix}"

    def number(self, name: str) -> int | None:
        """A version's number; None for any other object under the prefix."""
        digits = name[len(self.prefix) :].removesuffix(self.suffix)
        is_version = len(digits) == 20 and digits.isdecimal() and digits.isascii() and name == self.name(int(digits))
        return int(digits) if is_version else None

    def newest(self, after: int | None = None) -> int | None:
        """The highest number that is taken, looking only above `after` if that is given; None if there is none.

        Without `after` it starts at the hint. One that is missing, old or wrong costs requests, nothing else.
        """
        if after is not None:
            return self._last(after)
        hint = self.hint()
        found = self._last(hint - 1) if hint else None
        return self._last(-1) if found is None else found

    def _last(self, after: int) -> int | None:
        last = None
        for each in self.objects.list(self.prefix, self.name(after) if after >= 0 else ""):
            number = self.number(each.name)
            last = last if number is None else number
        return last

    def hint(self) -> int:
        """A number that was once the newest full one; 0 when nobody left word."""
        try:
            number = json.loads(self.objects.get(self.prefix + _HINT))["newest_full"]
        except (NotFound, ValueError, TypeError, KeyError):
            return 0
        return number if isinstance(number, int) and 0 <= number < 10**20 else 0

    def leave_hint(self, newest_full: int) -> None:
        """Say where to start looking. A failure is no harm: the next one will say it."""
        with contextlib.suppress(Unavailable):
            self.objects.put(self.prefix + _HINT, [json.dumps({"newest_full": newest_full}).encode()])


def full_before(number: int) -> int:
    """The newest full version that is not above this one."""
    return number - number % FULL_EVERY
