"""A series: all rounds of one life, numbered from 0, and the seal that ends it. Names taken by put-if-absent only.

    wal/<broker>-<life:020>/<number:020>     a round, or a seal
    wal/<broker>-<life:020>/forgotten        nothing in it is needed any more

Round n is acknowledged when all rounds up to n exist. Whoever takes the first absent number with a seal has ended the
series: what was acknowledged lies below it, and nothing more can be, for its number is the seal's for ever. Rounds
beyond it may exist, for several are under way together; nobody reads them.

Rounds below `needed from` are deleted by their own life, the lowest first, some time after a round that says so was
acknowledged. So for a sealer the rule of `io.versions` holds: behind its put it looks whether the round below is there.
Seals are never deleted: a life that wakes up when all else is gone still finds it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from holdfast.errors import Unavailable
from holdfast.io.objects import NotFound, Objects
from holdfast.io.store_errors import Damaged, Stale, Undecided
from holdfast.io.versions import First, Stamp, VersionRetries, Versions, read_again, take
from holdfast.log.rounds.errors import SeriesEnded
from holdfast.log.rounds.format import HEADER_SIZE, SEAL, Round, RoundHeader, decode_header, decode_round, encode_seal
from holdfast.types import Buffer

PREFIX: Final = "wal/"
GRACE_S: Final = 600.0  # Rounds stay for twice as long when nobody needs them any more.

_FORGOTTEN = "forgotten"
_LISTINGS_MAX = 64


class SeriesId(NamedTuple):
    """Whose rounds they are; in the order of lives."""

    life: int
    broker: int

    @property
    def prefix(self) -> str:
        return f"{PREFIX}{self.broker}-{self.life:020}/"


@dataclass(frozen=True)
class Series:
    """One series in a store. Calls block; any thread may make them."""

    objects: Objects
    id: SeriesId
    patience: VersionRetries
    grace_s: float = GRACE_S

    @property
    def _versions(self) -> Versions:
        return Versions(self.objects, self.id.prefix, "")

    def name(self, number: int) -> str:
        return self._versions.name(number)

    def get(self, number: int) -> Round:
        """Raises NotFound, Damaged."""
        name = self.name(number)
        return read_again(lambda: decode_round(name, self.objects.get(name)))

    def header(self, number: int) -> RoundHeader:
        """Raises NotFound, Damaged."""
        name = self.name(number)
        return read_again(lambda: decode_header(name, self.objects.get(name, 0, HEADER_SIZE)))

    def numbers(self) -> list[int]:
        """All numbers that are taken, and not deleted."""
        versions = self._versions
        found = (versions.number(each.name) for each in self.objects.list(self.id.prefix))
        return [number for number in found if number is not None]

    # Of the life itself

    def send(self, number: int, data: list[Buffer], nonce: str, unknown: Callable[[], Iterable[int]]) -> None:
        """Put a round, however often that takes. Raises SeriesEnded, or Undecided: then it may or may not be there.

        `unknown` tells the numbers of which it is not known that they are rounds, up to the next that will be used: if
        the series is sealed, the seal has one of them.
        """
        name, mine = self.name(number), Stamp(0, "", nonce)
        until = self.patience.clock.boottime() + self.grace_s
        while True:
            try:
                found = take(self.objects, name, data, mine, _stamp_of, self.patience, until)
            except Stale:
                # It may have been there, been sealed above, read and deleted by others, and been put a second time.
                until = self.patience.clock.boottime() + self.grace_s
                self.check_open(unknown())
                continue
            if found is not None:
                raise self._ended(decode_round(name, found))
            return

    def check_open(self, unknown: Iterable[int]) -> None:
        """Raise SeriesEnded if one of these numbers is a seal."""
        for number in unknown:
            with contextlib.suppress(NotFound):
                if self.header(number).kind == SEAL:
                    raise self._ended(self.get(number))

    def _ended(self, found: Round) -> Exception:
        name = self.name(found.header.number)
        return SeriesEnded(name, found.why.get("by", "")) if found.is_seal else Damaged(name, "it is not our round")

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete rounds, the lowest first: whoever finds one knows that those above were never deleted."""
        for number in sorted(numbers):
            self.objects.delete(self.name(number))

    # Of others

    def seal(self, why: Mapping[str, Any]) -> None:
        """End the series: on return nothing in it can be acknowledged any more that is not below a seal."""
        for listings in range(_LISTINGS_MAX):
            try:
                if self._seal_once(why):
                    return
            except (NotFound, Stale):
                pass  # It has moved on since it was listed.
            except Undecided:
                if listings + 1 == _LISTINGS_MAX:
                    raise
        raise Unavailable(f"{self.id.prefix} moves on whenever it is to be sealed: its life goes on")

    def _seal_once(self, why: Mapping[str, Any]) -> bool:
        until = self.patience.clock.boottime() + self.grace_s
        numbers = self.numbers()
        newest = self.header(numbers[-1]) if numbers else None
        if newest is not None and newest.kind == SEAL:
            return True
        # Not from the lowest number that is there: below it may be one that is still on its way.
        needed_from = 0 if newest is None else newest.needed_from
        number = _first_absent(numbers, needed_from)
        below = (
            First(self._versions, 0) if number == 0 else _RoundBelow(self, number - 1, self.header(number - 1).nonce)
        )
        nonce = f"{self.patience.chance.bits(128):032x}"
        header = RoundHeader(SEAL, self.id.broker, self.id.life, number, needed_from, nonce)
        name, mine = self.name(number), Stamp(0, "", nonce)
        found = take(self.objects, name, encode_seal(header, why), mine, _stamp_of, self.patience, until, below)
        return found is None or decode_header(name, found).kind == SEAL

    @property
    def is_forgotten(self) -> bool:
        try:
            self.objects.get(self.id.prefix + _FORGOTTEN)
        except NotFound:
            return False
        return True

    def forget(self) -> None:
        """Nothing in it is needed any more: everything is flushed, or deleted."""
        self.objects.put(self.id.prefix + _FORGOTTEN, [b"{}"])

    def sweep(self) -> None:
        """Delete what is left of a series that was forgotten long enough ago, but for its seals."""
        for number in self.numbers():
            with contextlib.suppress(NotFound):  # Another sweeps, too.
                if self.header(number).kind != SEAL:
                    self.delete([number])


class _RoundBelow(NamedTuple):
    """The round under the number that a sealer takes, as it has seen it."""

    series: Series
    number: int
    nonce: str

    def is_there(self, objects: Objects) -> bool:  # noqa: ARG002
        try:
            return self.series.header(self.number).nonce == self.nonce
        except NotFound:
            return False


def all_series(objects: Objects, patience: VersionRetries, grace_s: float = GRACE_S) -> list[Series]:
    """All series in a store that are not forgotten, in the order of their lives."""
    found, forgotten = _find(objects)
    return [Series(objects, each, patience, grace_s) for each in sorted(found - forgotten)]


def every_series(objects: Objects) -> list[Series]:
    """Those that are forgotten, too, for who only looks."""
    patience = VersionRetries.of_readers()
    return [Series(objects, each, patience) for each in sorted(_find(objects)[0])]


def _find(objects: Objects) -> tuple[set[SeriesId], set[SeriesId]]:
    """Those of which there is anything, and those that are forgotten."""
    found: set[SeriesId] = set()
    forgotten: set[SeriesId] = set()
    for each in objects.list(PREFIX):
        folder, _, rest = each.name.removeprefix(PREFIX).partition("/")
        broker, _, life = folder.partition("-")
        if broker.isdecimal() and life.isdecimal():
            (forgotten if rest == _FORGOTTEN else found).add(SeriesId(int(life), int(broker)))
    return found, forgotten


def _stamp_of(name: str, data: bytes) -> Stamp:
    return Stamp(0, "", decode_header(name, data).nonce)


def _first_absent(numbers: list[int], start: int) -> int:
    taken = set(numbers)
    while start in taken:
        start += 1
    return start
