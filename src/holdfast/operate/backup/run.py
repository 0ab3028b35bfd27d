"""A backup is made, and put back: the log before the store, which is the order in which nothing can fall between.

An entry leaves the write-ahead log only after the manifest that holds it is committed. So what is not in the copied
log any more is in the store by then, or in quarantine, and these are copied later. A topic that is deleted meanwhile
would be half in the copy: then it begins again.

Where the write-ahead log is in the store, as that of a cluster is, there is none to be copied before: the store's copy
begins with its rounds (`store`).

What is changed is a backup of this cluster or was empty (`marker`), apart from what is saved (`apart`), and held
meanwhile, so that neither a broker nor a second backup works in it.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.cluster.identity import read_cluster
from holdfast.cluster.served_store import write_served
from holdfast.errors import Corrupt, Rejected, Unavailable
from holdfast.io.disk import Directory, RealDirectory
from holdfast.io.objects import Objects
from holdfast.operate.backup.marker import NAME, BackupMarker, expect_target, mark_store, read
from holdfast.operate.backup.quarantine import copy_quarantine, prune_quarantine, quarantined_names
from holdfast.operate.backup.store import StoreCopy, check_free
from holdfast.operate.backup.wal import copy_log, is_used
from holdfast.operate.data_lock import held
from holdfast.operate.place import topic_names

_TRIES = 3


@dataclass(frozen=True)
class Made:
    """What a backup holds."""

    wal_size: int  # With what of it is in quarantine.
    objects: int  # That were copied this time.
    size: int
    damaged: dict[str, Corrupt]  # By name: what is damaged or lost at the source, and was copied as it is.


class _Target:
    """The folder of a backup that is being made: its marker is always ahead of what is written."""

    def __init__(self, place: Path, marker: BackupMarker) -> None:
        self.place = place
        self.marker = replace(marker, whole=False)

    def note(self, **lists: frozenset[str]) -> None:
        self.marker = replace(self.marker, **lists)  # type: ignore[arg-type]  # None of these is `whole`.
        self.marker.write(self.place)

    def swap_log(self, *, is_there: bool) -> None:
        """Put the new copy of the log in the place of the one before; or nothing, where it is in the store now."""
        now = frozenset(path.name for path in (self.place / "wal.new").iterdir()) if is_there else frozenset()
        self.note(wal=self.marker.wal | now)
        if (self.place / "wal").exists():
            shutil.rmtree(self.place / "wal")
        if is_there:
            (self.place / "wal.new").rename(self.place / "wal")
        self.marker = replace(self.marker, wal=now)


def back_up(wal: Directory | None, data: Path | None, objects: Objects, place: Path, target_objects: Objects) -> Made:
    """Copy a data directory and its store; brokers may be running. A backup that is there is brought up to date.

    Without a log, that is in the store. Without a data directory there is only a store, which several may share.
    """
    cluster = read_cluster(objects)
    expect_target(place, cluster)  # Before the lock is made there, too: what is not ours is not touched.
    with held(place, "backup"):
        target = _Target(place, expect_target(place, cluster))
        target.note()
        mark_store(target_objects, target.marker)
        copy = StoreCopy(objects, target_objects, target.marker.objects, lambda names: target.note(objects=names))
        for _ in range(_TRIES):
            wal_size = 0 if wal is None else copy_log(wal, place / "wal.new")
            quarantine_size = 0
            if data is not None:
                target.note(quarantine=target.marker.quarantine | quarantined_names(data))
                quarantine_size = copy_quarantine(data, place)
            # What a repair puts back from here on may come too late for the store's copy.
            left = frozenset() if data is None else quarantined_names(data)
            copy.run()
            if set(topic_names(target_objects)) <= set(topic_names(objects)):
                break
        else:
            raise Unavailable("topics were deleted while they were copied, again and again: try later")
        target.swap_log(is_there=wal is not None)
        prune_quarantine(target.marker.quarantine - left, place)
        RealDirectory(place, create=False).sync_names()
        kept = quarantined_names(place) & target.marker.quarantine
        replace(target.marker, whole=True, objects=copy.written, quarantine=frozenset(kept)).write(place)
    return Made(wal_size + quarantine_size, copy.copied, copy.size, dict(sorted(copy.damaged.items())))


def restore(source: Path, source_objects: Objects, data: Path, objects: Objects) -> Made:
    """Put a backup where nothing is yet."""
    check_whole(source)
    with held(data, "restore"):
        if is_used(data / "wal"):
            raise Rejected(f"{data / 'wal'} is there already: restore into an empty directory")
        check_free(objects, source_objects)
        copy = StoreCopy(source_objects, objects)
        copy.run()
        quarantine_size = copy_quarantine(source, data)
        wal_size = 0
        if (source / "wal").exists():  # Or it is in the store.
            wal_size = copy_log(RealDirectory(source / "wal", create=False), data / "wal.new")
            shutil.rmtree(data / "wal", ignore_errors=True)
            (data / "wal.new").rename(data / "wal")
        write_served(data, objects.url)
        RealDirectory(data).sync_names()
    return Made(wal_size + quarantine_size, copy.copied, copy.size, dict(sorted(copy.damaged.items())))


def check_whole(source: Path) -> None:
    """Raise unless a folder holds a backup that was made to its end."""
    marker = read(source)
    if marker is None:
        raise Rejected(f"{source} is no whole backup: {NAME} is missing. Name the folder of the backup, copied whole")
    if not marker.whole:
        raise Rejected(f"{source} is no whole backup: the last one did not end. Make it again, or take another")
