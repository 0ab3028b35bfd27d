"""Whose store it is: numbered claims, each taken once, by every process that opens the logs.

    owner/<number:020>.json

The newest claim is the owner's. Whoever finds one above its own is not the owner any more, and stops: it acknowledges
nothing, and serves nothing that may be stale. A process remembers its incarnation in its write-ahead log before it
takes a claim. So a log that does not know the newest claim's incarnation is a copy, or was set back, or another broker
has taken over: it is refused.

A log that holds it, but is in another place than the claim says, may be a copy whose original is alive. It takes the
next number with a question. A live owner answers it by taking the one after that, and stays; nobody has to die for a
copy that was started by mistake. If no answer comes, the log was moved, and goes on.

Old claims are deleted, the lowest first. So who finds nothing above its own claim looks whether that one is still
there; and who takes a number looks at the one below behind its put, as for every version.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from holdfast.errors import Unavailable
from holdfast.io.envelope import seal, unseal
from holdfast.io.objects import NotFound, Objects
from holdfast.io.store_errors import Damaged, Stale
from holdfast.io.versions import Below, First, Stamp, VersionRetries, Versions, read_again, take
from holdfast.log.errors import LogInStore, LogOnDisk, NotTheOwner, OwnerAlive, OwnerChanged, TookOver
from holdfast.log.journal import EntryLog
from holdfast.log.metadata import LIVES_MAX, Life, read_kept, save_kept
from holdfast.log.rounds.left import holds_entries

log = logging.getLogger(__name__)

PREFIX = "owner/"
KIND = "owner"
FORMAT = 2  # Releases that know only the first know of no rounds: with them a log on disk would go on without these.
FORMAT_ON_DISK = 1
KEPT_MAX = 64  # Claims that stay.
FIRST = 1

_CONFLICTS_MAX = 16
_LOOKS = 2  # So many looks an owner has to see a question, or a claim above its own, before anybody goes on.


@dataclass(frozen=True, slots=True)
class Here:
    """Which data directory this is: `place` tells it from its copies, `name` tells people."""

    place: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """One number that a process has taken."""

    number: int
    broker: str
    incarnation: str
    nonce: str
    here: Here
    at_ms: int
    asks: bool = False  # Not a claim yet: whether the owner below is alive.
    generation: int = 0  # Of the log: who takes over without it goes on above.
    rounds: bool = False  # Its write-ahead log is in the store: it has lost nothing when its machine is.

    def encode(self) -> bytes:
        body = {
            "number": self.number,
            "broker": self.broker,
            "incarnation": self.incarnation,
            "nonce": self.nonce,
            "place": self.here.place,
            "name": self.here.name,
            "at_ms": self.at_ms,
            "asks": self.asks,
            "generation": self.generation,
        }
        if not self.rounds:
            return seal(KIND, FORMAT_ON_DISK, body)
        return seal(KIND, FORMAT, body | {"rounds": True})


def decode(name: str, data: bytes) -> Claim:
    body: dict[str, Any] = unseal(name, KIND, FORMAT, data)
    try:
        here, generation = Here(body["place"], body["name"]), body.get("generation", 0)
        told = body["number"], body["broker"], body["incarnation"], body["nonce"]
        return Claim(*told, here, body["at_ms"], body["asks"], generation, body.get("rounds", False))
    except KeyError as failure:
        raise Damaged(name, f"it has no {failure}") from failure


def _stamp_of(name: str, data: bytes) -> Stamp:
    found = decode(name, data)
    return Stamp(0, found.broker, found.nonce, found.incarnation)


class Owner:
    """One process's claim. Calls block; any thread may make them, one at a time."""

    def __init__(
        self, objects: Objects, patience: VersionRetries, claim: Claim, wanted: Claim, heir_of: Collection[str]
    ) -> None:
        """`claim` may still be that of the process before us in this directory, while the store takes no other."""
        self._versions = Versions(objects, PREFIX)
        self._patience = patience
        self._wanted = wanted
        self.claim = claim
        self.heir_of = heir_of  # Processes that are known to be gone, and had all that this one has.

    @property
    def incarnation(self) -> str:
        return self._wanted.incarnation

    def look(self, *, may_claim: bool = True) -> None:
        """Raise OwnerChanged if another has taken a number above ours. Two requests.

        In this order: what was above ours and is deleted was deleted after ours. A claim that the store did not take at
        the start is taken now, with `may_claim`.
        """
        number = self.claim.number + 1
        # Behind any number of questions may be a claim, and one that cannot be read may be anybody's.
        while (above := _get_or_nobodys(self._versions, number)) is not None:
            number += 1
            if not above.asks and above.incarnation != self.incarnation:
                raise OwnerChanged(above.here.name, above.number)
            self.claim = self.claim if above.asks else above  # A claim of ours that arrived late.
        if not _below(self._versions, self.claim).is_there(self._versions.objects):
            raise OwnerChanged("", -1)
        is_late = may_claim and self.claim.incarnation != self.incarnation
        if number > self.claim.number + 1 or is_late:
            answer = _numbered(self._wanted, number, self._patience)
            if _take(self._versions, answer, self.claim, self._patience):
                self.claim = answer  # Otherwise the next look sees who did.


def become_owner(
    wal: EntryLog, objects: Objects, patience: VersionRetries, here: Here, *, take_over: bool, look_s: float
) -> Owner:
    """Take the next claim, or refuse. With `take_over` nobody is asked: whoever holds the newest claim is to stop."""
    versions = Versions(objects, PREFIX)
    kept = read_kept(wal)
    assert kept is not None  # Who has no identity claims nothing.
    incarnation = f"{patience.chance.bits(128):032x}"
    claim = Claim(0, kept.identity.broker, incarnation, "", here, patience.clock.now_ms())
    own = kept.identity.generation
    for _ in range(_CONFLICTS_MAX):
        owner, top = _newest(versions)
        lives = () if owner is None else _lives_around(kept.lives, owner)
        if owner is not None and owner.rounds and not take_over:
            raise LogInStore(objects.url, owner.here.name)
        if (owner is None or owner.rounds) and holds_entries(objects, patience):  # Without one it may be a backup's.
            raise LogInStore(objects.url, owner.here.name if owner else "in a backup")
        if owner is not None and not lives and not take_over:
            raise NotTheOwner(objects.url, owner.number, owner.here.name)
        if owner is not None and not lives:
            # What it acknowledged and never stored is not known here: those offsets are given again, and in which epoch
            # it gave them only its claim tells.
            kept = kept.of_generation(max(own, owner.generation) + 1)
        claim = replace(claim, generation=kept.identity.generation)
        is_moved = owner is not None and (not lives or owner.here.place != here.place)
        if is_moved and not take_over:
            asked = _numbered(replace(claim, asks=True), top.number + 1 if top else FIRST, patience)
            if not _take(versions, asked, top, patience):
                continue
            patience.wait(_LOOKS * look_s)
            top = asked
        mine = _numbered(claim, top.number + 1 if top else FIRST, patience)
        # Here first: who is killed between the two must know its own claim again.
        deletes_from = wal.state.next_index if kept.deletes_from is None else kept.deletes_from
        new_lives = (*lives, Life(mine.incarnation, here.place))
        save_kept(wal, replace(kept, lives=new_lives, deletes_from=deletes_from))
        heir_of = [each.incarnation for each in lives if each.place == here.place]
        try:
            is_mine = _take(versions, mine, top, patience)
        except Unavailable:
            if owner is None or is_moved or top is not owner:
                raise
            # A full disk, for instance. Nobody but us can have been here since: it is claimed when it can be.
            return Owner(objects, patience, owner, mine, heir_of)
        if not is_mine:
            if is_moved and not take_over and owner is not None:
                raise OwnerAlive(objects.url, owner.here.name, is_copy=True)
            continue
        if is_moved and here.place:
            patience.wait(_LOOKS * look_s)  # Whoever was the owner has looked by then, and stopped.
        if kept.identity.generation > own:
            log.warning("%s", TookOver(owner.here.name if owner else "", kept.identity.generation))
        _delete_old(versions, mine.number)
        return Owner(objects, patience, mine, mine, heir_of)
    raise Unavailable(f"other processes took {_CONFLICTS_MAX} claims in a row")


def claim_with_rounds(
    objects: Objects, patience: VersionRetries, here: Here, *, take_over: bool, look_s: float
) -> tuple[Owner, Claim | None]:
    """Take the next claim for a log in the store, and tell whose was the last; or refuse.

    Nobody has to know the last claim: what its owner acknowledged is in the store. Whether it is alive is asked all the
    same, unless it was in this very place, so that a second broker which is started by mistake stops nobody.
    """
    versions = Versions(objects, PREFIX)
    claim = Claim(0, "", f"{patience.chance.bits(128):032x}", "", here, patience.clock.now_ms(), rounds=True)
    for _ in range(_CONFLICTS_MAX):
        owner, top = _newest(versions)
        if owner is not None and not owner.rounds and not take_over:
            raise LogOnDisk(objects.url, owner.here.name)
        broker = owner.broker if owner is not None and owner.rounds else f"{patience.chance.bits(128):032x}"
        claim = replace(claim, broker=broker, generation=owner.generation if owner else 0)
        asks = owner is not None and owner.here.place != here.place and not take_over
        if asks:
            asked = _numbered(replace(claim, asks=True), top.number + 1 if top else FIRST, patience)
            if not _take(versions, asked, top, patience):
                continue
            patience.wait(_LOOKS * look_s)
            top = asked
        mine = _numbered(claim, top.number + 1 if top else FIRST, patience)
        if _take(versions, mine, top, patience):
            _delete_old(versions, mine.number)
            return Owner(objects, patience, mine, mine, ()), owner
        if asks and owner is not None:
            raise OwnerAlive(objects.url, owner.here.name, is_copy=False)
    raise Unavailable(f"other processes took {_CONFLICTS_MAX} claims in a row")


def _lives_around(lives: tuple[Life, ...], owner: Claim) -> tuple[Life, ...]:
    """Whose claim the owner's is, some of those before it, and those that may have claimed since; none: not ours."""
    at = next((number for number, each in enumerate(lives) if each.incarnation == owner.incarnation), None)
    if at is None:
        return ()
    around = LIVES_MAX // 2 - 1
    return (*lives[max(0, at - around) : at + 1], *lives[at + 1 :][-around:])


def lives_of_owner(objects: Objects) -> tuple[Life, ...]:
    """What a log that is made anew has to know, so that it goes on in the owner's place."""
    owner, _ = _newest(Versions(objects, PREFIX))
    return () if owner is None or not owner.incarnation else (Life(owner.incarnation, owner.here.place),)


def _newest(versions: Versions) -> tuple[Claim | None, Claim | None]:
    """The newest claim, and what has the highest number: the same, or a question above it."""
    numbers = [number for each in versions.objects.list(PREFIX) if (number := versions.number(each.name)) is not None]
    top = None
    for number in reversed(numbers):
        found = _get_or_nobodys(versions, number)
        top = top or found
        if found is not None and not found.asks:
            return found, top
    return None, top


def _numbered(claim: Claim, number: int, patience: VersionRetries) -> Claim:
    return replace(claim, number=number, nonce=f"{patience.chance.bits(128):032x}")


def _below(versions: Versions, claim: Claim) -> Below:
    return Below(versions.name(claim.number), claim.nonce)


def _take(versions: Versions, claim: Claim, top: Claim | None, patience: VersionRetries) -> bool:
    """Whether the number is ours; `top` is what was seen below it."""
    stamp = Stamp(0, claim.broker, claim.nonce, claim.incarnation)
    name, below = versions.name(claim.number), First(versions, claim.number) if top is None else _below(versions, top)
    try:
        return take(versions.objects, name, [claim.encode()], stamp, _stamp_of, patience, math.inf, below) is None
    except Stale:
        return False


def _get(versions: Versions, number: int) -> Claim | None:
    name = versions.name(number)
    try:
        return read_again(lambda: decode(name, versions.objects.get(name)))
    except NotFound:
        return None


def _get_or_nobodys(versions: Versions, number: int) -> Claim | None:
    """One that is damaged may be anybody's: no log knows it, and only an operator can say that its owner is gone."""
    try:
        return _get(versions, number)
    except Damaged as failure:
        return Claim(number, "", "", "", Here("", str(failure)), 0)


def _delete_old(versions: Versions, newest: int) -> None:
    for each in versions.objects.list(PREFIX):
        number = versions.number(each.name)
        if number is not None and number <= newest - KEPT_MAX:
            versions.objects.delete(each.name)
