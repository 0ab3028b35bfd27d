"""The rule of put-if-absent: numbered versions, each taken once, and the newest found in a few requests.

A version's number is taken by whoever puts it first. Every version says who wrote it (`Stamp`), so that a writer who
got no clear answer reads the version and knows:

    its own nonce             the put had succeeded
    a higher epoch            fenced: stop
    anybody else              taken: load it, check the change against it, take the next number
    absent                    put the same bytes again, a bounded number of times

Numbers from the newest full list on are never deleted. Older ones are, after `grace_s`, the lowest first. So a number
may have been used and deleted while its would-be writer was stopped, for however long, with whatever clocks: the put
succeeds, and means nothing. Behind a put the version below is therefore looked at (`Below`). If it is there, as it was
seen, then nothing above it was ever deleted, and the number is new. Below the first there is none: it is new if there
is nothing above (`First`). Otherwise the versions must be listed again (`Stale`), and what is there is believed.

Clocks only save that trouble early: who has not seen the newest version for half of the grace lists before it puts, and
who has no answer by then, behind it (`fresh_until`). They run while the machine sleeps (`Clock.boottime`).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from holdfast.errors import Unavailable
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock
from holdfast.io.objects import Exists, NotFound, Objects
from holdfast.io.store_errors import Damaged, HigherEpoch, Stale, Undecided
from holdfast.types import Buffer

T = TypeVar("T")

FULL_EVERY = 64  # Versions whose number this divides carry everything; all others, all changes since such a one.
GRACE_S = 3600.0

_HINT = "newest.json"
_HEAD_SIZE = 1024  # Bytes; who wrote a version is said at its beginning.


class Stamp(NamedTuple):
    """Who wrote a version."""

    epoch: int
    writer: str
    nonce: str
    incarnation: str = ""  # Of the process, drawn at its start; versions of earlier releases have none.


class Under(Protocol):
    """What was seen under the version that is taken."""

    def is_there(self, objects: Objects) -> bool:
        """Whether it still is: then the number above it is new."""


class Below(NamedTuple):
    """The version under the one that is taken, as its writer has seen it."""

    name: str
    nonce: str

    def is_there(self, objects: Objects) -> bool:
        """Whether it still is, and not what another late writer has left under its number. One request.

        What is not as it was is read again: one byte that was misread is not another version.
        """
        try:
            return any(self.nonce.encode() in objects.get(self.name, 0, _HEAD_SIZE) for _ in range(2))
        except NotFound:
            return False


class First(NamedTuple):
    """There is none under the one that is taken."""

    versions: Versions
    number: int

    def is_there(self, objects: Objects) -> bool:  # noqa: ARG002
        """Whether ours is the highest number, as that of a row which begins is. One request."""
        return self.versions.newest(self.number) is None


@dataclass(frozen=True)
class VersionRetries:
    """How a writer waits between tries: twice as long each time, up to a limit, shortened by chance."""

    clock: Clock
    chance: Chance
    wait: Callable[[float], object]  # Blocks for so many seconds; may raise to give up at once.
    tries: int = 6
    wait_s: float = 0.05
    wait_s_max: float = 2.0

    @classmethod
    def of_readers(cls) -> VersionRetries:
        """For who writes none, and so never waits."""
        return cls(SystemClock(), SystemChance(), lambda _: None)

    def pause(self, tries_done: int) -> None:
        self.wait(min(self.wait_s_max, self.wait_s * 2**tries_done) * (0.5 + self.chance.fraction() / 2))


def take(
    objects: Objects,
    name: str,
    data: Sequence[Buffer],
    mine: Stamp,
    stamp_of: Callable[[str, bytes], Stamp],
    patience: VersionRetries,
    fresh_until: float,
    below: Under | None = None,
) -> bytes | None:
    """Take a version's name. None: it is ours. Bytes: they are there already, from another writer.

    Without `below` the name must be one that is never deleted.

    Raises HigherEpoch when that writer fences us, Stale when the versions must be listed first, Undecided when the
    store never gave a clear answer: then the put may still take effect, now or later.
    """
    cause: Exception | None = None
    for tries_done in range(patience.tries):
        if patience.clock.boottime() > fresh_until:
            raise Stale(name)
        try:
            found = _put_or_get(objects, name, data)
            theirs = None if found is None else _judge(name, found, mine, stamp_of(name, found))
            is_new = theirs is not None or below is None or below.is_there(objects)
        except NotFound as failure:  # It was there and is deleted: an old number, which only a listing can tell.
            raise Stale(name) from failure
        except Unavailable as failure:
            cause = failure
        else:
            if theirs is None and (not is_new or patience.clock.boottime() > fresh_until):
                raise Stale(name)
            return theirs
        if tries_done + 1 < patience.tries:
            patience.pause(tries_done)
    raise Undecided(name, patience.tries, cause)


def _put_or_get(objects: Objects, name: str, data: Sequence[Buffer]) -> bytes | None:
    """None: it is put. Otherwise what is there; it may be ours, by a put whose answer was lost."""
    try:
        objects.put_if_absent(name, data)
    except Exists:
        return objects.get(name)
    except Unavailable as failure:
        try:
            return objects.get(name)
        except NotFound:
            raise failure from None  # Absent: the same bytes may be put again.
    return None


def _judge(name: str, found: bytes, mine: Stamp, theirs: Stamp) -> bytes | None:
    if theirs.nonce == mine.nonce:
        return None
    if theirs.epoch > mine.epoch:
        raise HigherEpoch(name, mine.epoch, theirs.epoch)
    return found


def read_again(read: Callable[[], T]) -> T:
    """Read and decode a version. What was misread once is no damage: then all of it is done once more."""
    with contextlib.suppress(Damaged):
        return read()
    return read()


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

    def is_free(self, number: int) -> bool:
        """Whether nobody has taken a number, or it was deleted again: one small read, where a listing costs more."""
        try:
            self.objects.get(self.name(number), 0, 1)
        except NotFound:
            return True
        return False

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
