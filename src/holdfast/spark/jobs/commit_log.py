"""Files that become visible together: a log of commits beside them, and names that readers ignore until then.

    _holdfast/<version:020>.json        commits: which files, from where to where, and what the writer has to remember
    _holdfast/staging/<run>/…           files that no commit names yet; readers of Parquet ignore names with `_`
    …                                   files of commits that are published

A run writes to staging, takes the next number by put-if-absent, and then publishes: each file gets its name. A run that
is killed before its commit leaves nothing but staging; one that is killed behind it has committed, and the next run
publishes the rest before it does anything else. So only the newest commit can be unpublished, and every file is
published once. In a directory a file is renamed; in an object store, which cannot, it is copied and the other deleted.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from holdfast.catalog.store import Store
from holdfast.errors import Corrupt, Rejected
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.io.envelope import seal, unseal
from holdfast.io.objects import Exists, NotFound
from holdfast.io.objects.local.files import sync_folder
from holdfast.io.versions import Stamp, VersionRetries, Versions, full_before, take
from holdfast.spark.sink.errors import StagedGone

FOLDER = "_holdfast/"
STAGING = FOLDER + "staging/"
KIND = "files"
FORMAT = 2  # Of a commit that removes files, which releases before would not do; 1 of all others.
REMOVED = "removed"  # In a commit's memory: files whose rows are in those that it names, and that go before these come.
STAGING_AGE_MS = 24 * 60 * 60 * 1000  # No run takes longer.


class Move(NamedTuple):
    """A file of a commit: its name in staging, and the one it gets."""

    source: str
    target: str
    size: int


class Overtaken(Rejected):
    """Another run has committed meanwhile."""

    def __init__(self, url: str, version: int) -> None:
        super().__init__(
            f"another run has written version {version} of {url} meanwhile, and nothing of this one is to be seen: "
            "run it again"
        )
        self.url = url
        self.version = version


@dataclass(frozen=True)
class LoggedCommit:
    """One version."""

    version: int
    moves: tuple[Move, ...]
    memory: dict[str, Any]  # What the writer has to remember.


@dataclass(frozen=True)
class CommitLog:
    """The commits of one target."""

    store: Store

    def newest(self) -> LoggedCommit | None:
        versions = self._versions()
        number = versions.newest()
        return None if number is None else self.read(number)

    def read(self, number: int) -> LoggedCommit:
        """A version that is there: none is ever deleted."""
        versions = self._versions()
        body = unseal(versions.name(number), KIND, FORMAT, versions.objects.get(versions.name(number)))
        return LoggedCommit(number, tuple(Move(*each) for each in body["moves"]), body["memory"])

    def commit(self, version: int, moves: Sequence[Move], memory: dict[str, Any]) -> LoggedCommit:
        """Take this version, or raise Overtaken."""
        versions = self._versions()
        chance = SystemChance()
        stamp = Stamp(0, "", f"{chance.bits(128):032x}")
        body = {"version": version, "nonce": stamp.nonce, "moves": [list(each) for each in moves], "memory": memory}
        patience = VersionRetries(SystemClock(), chance, _wait)
        name = versions.name(version)
        # Numbers are never deleted here, so nobody has to list again before taking one.
        sealed = seal(KIND, FORMAT if REMOVED in memory else 1, body)
        if take(versions.objects, name, [sealed], stamp, _stamp_of, patience, math.inf) is not None:
            raise Overtaken(self.store.url, version)
        if full_before(version) == version:
            versions.leave_hint(version)  # Who is asked again and again does not list all that ever was.
        return LoggedCommit(version, tuple(moves), memory)

    def unpublished(self, commit: LoggedCommit) -> list[Move]:
        """What of a commit has not got its name yet."""
        objects = self.store.open()
        return [each for each in commit.moves if not _is_there(objects, each.target)]

    def _versions(self) -> Versions:
        return Versions(self.store.open(), FOLDER)


def publish(store: Store, move: Move, *, keeps_source: bool = False) -> None:
    """Give a committed file its name. May be done again, by anybody, at any time."""
    objects = store.open()
    if not _is_there(objects, move.target):
        _give_name(store, move)
    if not keeps_source:
        objects.delete(move.source)


def _give_name(store: Store, move: Move) -> None:
    objects = store.open()
    folder = local_folder(store.url)
    try:
        if folder is None:
            with contextlib.suppress(Exists):
                objects.put_if_absent(move.target, [objects.get(move.source)])
        else:
            _link(folder, move)
    except (NotFound, FileNotFoundError):
        if not _is_there(objects, move.target):
            where = f"{store.url}: {move.target}"
            raise Corrupt(f"{where} was committed, but is nowhere: it was deleted, or its staging was") from None


def _link(folder: Path, move: Move) -> None:
    target = folder / move.target
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.link(folder / move.source, target)
    sync_folder(str(target.parent))


def clear_staging(store: Store, now_ms: int) -> int:
    """Delete what killed runs have left; what is younger may belong to a run that is still at work."""
    objects = store.open()
    left = [each.name for each in objects.list(STAGING) if each.modified_ms < now_ms - STAGING_AGE_MS]
    for name in left:
        objects.delete(name)
    return len(left)


def check_staged(store: Store, sizes: Mapping[str, int]) -> None:
    """Raise unless the driver sees all files that executors wrote: what is committed must not be nowhere."""
    objects = store.open()
    folders = sorted({name.rpartition("/")[0] + "/" for name in sizes})
    there = {each.name: each.size for folder in folders for each in objects.list(folder)}
    for name, size in sizes.items():
        if there.get(name) != size:
            raise StagedGone(name, store.url)


def local_folder(url: str) -> Path | None:
    """The directory that a store is; None for one that cannot rename."""
    scheme, separator, _ = url.partition("://")
    if not separator:
        return Path(url)
    return Path(unquote(urlsplit(url).path)) if scheme == "file" else None


def _is_there(objects: Any, name: str) -> bool:
    try:
        objects.size(name)
    except NotFound:
        return False
    return True


def _stamp_of(name: str, data: bytes) -> Stamp:
    return Stamp(0, "", str(unseal(name, KIND, FORMAT, data)["nonce"]))


def _wait(seconds: float) -> None:
    from threading import Event

    Event().wait(seconds)
