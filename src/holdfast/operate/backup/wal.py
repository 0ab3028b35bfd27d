"""A copy of a write-ahead log that may be written at the same time: all that was durable when it began is in it.

A plain copy of the files would not do: what is written behind the copier's back leaves holes in it that look like
damage. So each chunk is copied up to where its frames end at the moment of looking, and the copy is verified.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from holdfast.errors import Corrupt, Rejected, Unavailable
from holdfast.io.disk import Directory, RealDirectory
from holdfast.io.disk.reserve import NAME as RESERVE
from holdfast.wal.chunks.chain import read_chain
from holdfast.wal.chunks.chunk import ChunkName, parse_chunk_name
from holdfast.wal.inspect import verify
from holdfast.wal.recovery.replay import read_tail
from holdfast.wal.state import WalState

_LOOKS = 10  # Purges and roll-overs come one by one; each may spoil one look.
_PIECE_SIZE = 4 << 20
BESIDE = {"LOCK", RESERVE}  # In a log's directory, and no part of it.


def copy_log(source: Directory, target: Path) -> int:
    """Copy a log into a new directory, durably; how many bytes it has."""
    why: object = None
    for _ in range(_LOOKS):
        if target.exists():
            shutil.rmtree(target)
        copied = RealDirectory(target)
        try:
            size = _copy(source, copied)
            verdict = verify(copied)
        except (FileNotFoundError, Corrupt) as failure:  # A chunk was purged, or given away, while it was copied.
            why = failure
            continue
        if verdict.sound:
            return size
        why = verdict.damage
    raise Unavailable(f"{source.path} could not be copied, it changed too fast or is damaged: {why}")


def _copy(source: Directory, target: RealDirectory) -> int:
    links = read_chain(source).links
    size = 0
    for number, link in enumerate(links):
        newest = number + 1 == len(links)
        end = read_tail(source, link).end if newest else links[number + 1].head.predecessor_end
        _copy_chunk(source, target, link.name, end)
        size += end
    target.sync_names()
    return size


def _copy_chunk(source: Directory, target: RealDirectory, name: ChunkName, end: int) -> None:
    original = source.open(str(name), write=False)
    try:
        with open(os.path.join(target.path, str(name)), "xb") as copy:
            for at in range(0, end, _PIECE_SIZE):
                copy.write(original.read_at(at, min(_PIECE_SIZE, end - at)))
            copy.flush()
            os.fsync(copy.fileno())
    finally:
        original.close()


def is_used(log: Path) -> bool:
    """Whether there is a log, or anything else, in its place.

    A start that was refused leaves a log that nothing was ever written into: neither an entry, nor whose log it is.
    In the place of a link, or of another disk's directory, nothing can be put, be it empty or not.
    """
    if log.is_symlink() or log.is_mount():
        return True
    if not log.exists():
        return False
    names = {path.name for path in log.iterdir()} - BESIDE if log.is_dir() else {log.name}
    if not all(parse_chunk_name(name) for name in names):
        return True
    return bool(names) and not _is_new(RealDirectory(log, create=False))


def _is_new(log: Directory) -> bool:
    try:
        found = verify(log)
    except Rejected:  # A later release has written it.
        return False
    return found.sound and found.state == WalState()
