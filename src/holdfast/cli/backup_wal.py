"""A copy of a write-ahead log that may be written at the same time: all that was durable when it began is in it.

A plain copy of the files would not do: what is written behind the copier's back leaves holes in it that look like
damage. So each chunk is copied up to where its frames end at the moment of looking, and the copy is verified.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from holdfast.errors import Corrupt, Unavailable
from holdfast.io.disk import Directory, RealDirectory
from holdfast.wal.chain import read_chain
from holdfast.wal.chunk import ChunkName
from holdfast.wal.inspect import verify
from holdfast.wal.replay import read_tail

_LOOKS = 10  # Purges and roll-overs come one by one; each may spoil one look.
_PIECE_SIZE = 4 << 20


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
