"""A backup is made, and put back: the log before the store, which is the order in which nothing can fall between.

An entry leaves the write-ahead log only after the manifest that holds it is committed. So what is not in the copied
log any more is in the store by then, or in quarantine, and these are copied later. A topic that is deleted meanwhile
would be half in the copy: then it begins again.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from holdfast.cli.backup.quarantine import copy_asides, names_of_asides, prune_asides
from holdfast.cli.backup.store import StoreCopy, is_empty
from holdfast.cli.backup.wal import copy_log, is_used
from holdfast.cli.data_lock import held
from holdfast.cli.log.place import cluster_of, topic_names
from holdfast.errors import Corrupt, Rejected, Unavailable
from holdfast.io.disk import Directory, RealDirectory
from holdfast.io.objects import Objects

NOTE = "backup.json"
FORMAT = 1
_TRIES = 3


@dataclass(frozen=True)
class Made:
    """What a backup holds."""

    wal_size: int  # With what is set aside from it.
    objects: int  # That were copied this time.
    size: int


def back_up(wal: Directory, objects: Objects, target: Path, target_objects: Objects) -> Made:
    """Copy a data directory and its store; a broker may be running. A backup that is there is brought up to date."""
    cluster, data = cluster_of(objects), Path(wal.path).parent
    if not is_empty(target_objects) and cluster_of(target_objects) != cluster:
        raise Rejected(f"{target} is the backup of cluster {cluster_of(target_objects)}, not of {cluster}")
    RealDirectory(target)
    (target / NOTE).unlink(missing_ok=True)  # Not whole from here on.
    for _ in range(_TRIES):
        wal_size = copy_log(wal, target / "wal.new")
        aside_size = copy_asides(data, target)
        left = names_of_asides(data)  # What a repair puts back from here on may come too late for the store's copy.
        copy = StoreCopy(objects, target_objects)
        copy.run()
        if set(topic_names(target_objects)) <= set(topic_names(objects)):
            break
    else:
        raise Unavailable("topics were deleted while they were copied, again and again: try later")
    if (target / "wal").exists():
        shutil.rmtree(target / "wal")
    (target / "wal.new").rename(target / "wal")
    prune_asides(left, target)
    _write_note(target, cluster)
    return Made(wal_size + aside_size, copy.copied, copy.size)


def _write_note(target: Path, cluster: str) -> None:
    directory = RealDirectory(target)
    directory.sync_names()
    file = directory.open(NOTE, create=True)
    try:
        file.write_at(0, [json.dumps({"format": FORMAT, "cluster": cluster}).encode()])
        file.sync()
    finally:
        file.close()
    directory.sync_names()


def restore(source: Path, source_objects: Objects, data: Path, objects: Objects) -> Made:
    """Put a backup where nothing is yet."""
    _check_whole(source)
    with held(data, "restore"):
        if is_used(data / "wal"):
            raise Rejected(f"{data / 'wal'} is there already: restore into an empty directory")
        if not is_empty(objects):
            told = "restore into an empty store; what a restore that was broken off has left there may be removed"
            raise Rejected(f"{objects.url} holds a cluster already: {told}")
        copy = StoreCopy(source_objects, objects)
        copy.run()
        aside_size = copy_asides(source, data)
        wal_size = copy_log(RealDirectory(source / "wal", create=False), data / "wal.new")
        shutil.rmtree(data / "wal", ignore_errors=True)
        (data / "wal.new").rename(data / "wal")
        RealDirectory(data).sync_names()
    return Made(wal_size + aside_size, copy.copied, copy.size)


def _check_whole(source: Path) -> None:
    try:
        note = json.loads((source / NOTE).read_bytes())
        version = int(note["format"])
    except FileNotFoundError:
        raise Rejected(f"{source} is no whole backup: {NOTE} is missing, which is written last") from None
    except (ValueError, KeyError, TypeError) as failure:
        raise Corrupt(f"{source / NOTE} cannot be read: {failure!r}") from failure
    if version > FORMAT:
        raise Rejected(f"{source} has format version {version}, this release knows up to {FORMAT}: use a newer release")
