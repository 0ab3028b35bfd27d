"""What makes a folder and a store a backup: a file in each that only a backup writes, first and last.

    backup.json   in the folder: {"format": 2, "cluster", "backup", "whole", "objects", "quarantine", "wal"}
    backup.json   in the store of its objects: {"format": 2, "cluster", "backup"}

`backup` is a random id, the same in both: the store of another backup is never mistaken for this one's. The three lists
are the names that backups wrote here; nothing else is ever removed. A name is listed before it is written, so that one
that was broken off leaves nothing that nobody knows. `whole` is false from the first change to the last.

Format 1, of earlier releases, had neither lists nor a file in the store: it can be restored, and is not written to.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import Corrupt, Rejected
from holdfast.io.chance import SystemChance
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import NotFound, Objects
from holdfast.operate.backup.wal import BESIDE

NAME = "backup.json"
FORMAT = 2
_UNFINISHED = NAME + ".unfinished"
_TO_DO = "name an empty folder, or a backup of this cluster"
_STORE_TO_DO = "name an empty store, or that of this backup"


@dataclass(frozen=True)
class BackupMarker:
    """What a folder says of the backup in it."""

    cluster: str
    backup: str
    whole: bool = False
    objects: frozenset[str] = frozenset()
    quarantine: frozenset[str] = frozenset()
    wal: frozenset[str] = frozenset()

    def write(self, target: Path) -> None:
        """Put it in the place of the one before, durably."""
        lists = {"objects": self.objects, "quarantine": self.quarantine, "wal": self.wal}
        fields = {"format": FORMAT, "cluster": self.cluster, "backup": self.backup, "whole": self.whole}
        unfinished = target / _UNFINISHED
        with unfinished.open("wb") as file:
            file.write(json.dumps(fields | {name: sorted(each) for name, each in lists.items()}).encode())
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(target / NAME)
        RealDirectory(target, create=False).sync_names()


def read(source: Path) -> BackupMarker | None:
    """The backup in a folder, or None if there is none."""
    try:
        fields = json.loads((source / NAME).read_bytes())
        version = int(fields["format"])
        if version > FORMAT:
            told = f"this release knows up to {FORMAT}: use a newer release"
            raise Rejected(f"{source} has format version {version}, {told}")
        if version == 1:
            return BackupMarker(str(fields["cluster"]), "", whole=True)  # Written last, so it was whole.
        lists = {name: frozenset(map(str, fields[name])) for name in ("objects", "quarantine", "wal")}
        return BackupMarker(str(fields["cluster"]), str(fields["backup"]), bool(fields["whole"]), **lists)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as failure:
        raise Corrupt(f"{source / NAME} cannot be read: {failure!r}") from failure


def expect_target(target: Path, cluster: str) -> BackupMarker:
    """What a backup of this cluster may go on from: nothing, or a backup of it. Changes nothing."""
    marker = read(target)
    if marker is None:
        stranger = next(filter(_counts, target.rglob("*")), None) if target.exists() else None
        if stranger is not None:
            raise Rejected(f"{target} is no backup, and not empty ({stranger.name} is in it, {NAME} is not): {_TO_DO}")
        return BackupMarker(cluster, f"{SystemChance().bits(64):016x}")
    if marker.cluster != cluster:
        raise Rejected(f"{target} is the backup of cluster {marker.cluster}, not of {cluster}: {_TO_DO}")
    if not marker.backup:
        told = "it can be restored, and is not brought up to date: begin a new one in an empty folder"
        raise Rejected(f"{target} was made by an earlier release: {told}")
    log = target / "wal"
    strangers = sorted({each.name for each in log.iterdir()} - marker.wal - BESIDE) if log.exists() else []
    if strangers:
        told = "a broker has run on it: begin a new one in an empty folder"
        raise Rejected(f"{log} has {strangers[0]}, which no backup wrote ({target / NAME} lists what did): {told}")
    return marker


def _counts(path: Path) -> bool:
    """Empty folders, our own lock, and the start of a marker do not make a place somebody's."""
    if path.name in BESIDE or path.name == _UNFINISHED:
        return False
    return path.is_symlink() or not path.is_dir()


def mark_store(objects: Objects, marker: BackupMarker) -> None:
    """Make an empty store this backup's, or raise if it is anything else than that already."""
    mine: dict[str, Any] = {"format": FORMAT, "cluster": marker.cluster, "backup": marker.backup}
    try:
        found = json.loads(objects.get(NAME))
    except NotFound:
        stranger = next(iter(objects.list("")), None)
        if stranger is not None:
            told = f"is no backup, and not empty ({stranger.name} is in it, {NAME} is not)"
            raise Rejected(f"{objects.url} {told}: {_STORE_TO_DO}") from None
        objects.put_if_absent(NAME, [json.dumps(mine).encode()])
        return
    except ValueError as failure:
        raise Corrupt(f"{NAME} in {objects.url} cannot be read: {failure!r}") from failure
    if found != mine:
        told = "a copy of a backup is brought up to date with its own folder and its own store"
        raise Rejected(f"{objects.url} holds the objects of another backup, its {NAME} says: {_STORE_TO_DO}; {told}")
