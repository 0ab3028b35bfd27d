"""Which files make up the log, and in which order: each head names its predecessor.

A file that no head names and that is newer than the last whole head was being made when the process ended: it is a
leftover, unless a frame in it proves that its head was durable once. A file between a chunk and its predecessor is a
leftover of the same kind from an earlier open. A named predecessor that is missing while older chunks are there is a
gap.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from holdfast.io.disk import Directory
from holdfast.io.disk.reserve import NAME as RESERVE
from holdfast.wal.chunks.chunk import ChunkName, parse_chunk_name, parse_spare_name
from holdfast.wal.errors import ChunkGap, DamagedLog, NewerLog
from holdfast.wal.format import record, scan
from holdfast.wal.format.record import Head

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Link:
    """A chunk file with its head."""

    name: ChunkName
    head: Head


@dataclass(slots=True)
class Chain:
    """The files of a log's directory, told apart."""

    links: list[Link] = field(default_factory=list)  # Oldest first.
    leftovers: list[ChunkName] = field(default_factory=list)
    spares: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    next_id: int = 1


def read_chain(directory: Directory) -> Chain:
    """Sort the files of a directory, and follow the heads back from the newest chunk."""
    chain = Chain()
    names = _sort_names(directory, chain)
    heads = {name.id: head for name in names if (head := read_head(directory, name)) is not None}
    while names and names[-1].id not in heads:
        _check_never_durable(directory, names[-1])
        chain.leftovers.append(names.pop())
    if names:
        _follow(chain, {name.id: name for name in names}, heads, names[-1].id)
    chain.links.reverse()
    return chain


def _sort_names(directory: Directory, chain: Chain) -> list[ChunkName]:
    names = []
    for name in directory.names():
        chunk = parse_chunk_name(name)
        spare = parse_spare_name(name)
        if chunk is not None:
            names.append(chunk)
        elif spare is not None:
            chain.spares.append(name)
        elif name not in ("LOCK", RESERVE):
            chain.foreign.append(name)
        chain.next_id = max(chain.next_id, (chunk.id if chunk else spare or 0) + 1)
    return names


def read_head(directory: Directory, name: ChunkName) -> Head | None:
    """The first record of a chunk; None if it is not there."""
    file = directory.open(str(name), write=False)
    try:  # What was misread once is no missing head: a chunk without one may be thrown away.
        frame = next(scan.frames(file, name.seed, 0), None) or next(scan.frames(file, name.seed, 0), None)
    finally:
        file.close()
    if frame is None or frame.kind != record.HEAD:
        return None
    version = record.head_version(frame.body)
    if version > record.FORMAT_VERSION:
        raise NewerLog(str(name), version, record.FORMAT_VERSION)
    return record.decode_head(frame.body)


def _check_never_durable(directory: Directory, name: ChunkName) -> None:
    """A chunk without a head is a leftover, unless something in it proves that it once had one."""
    file = directory.open(str(name), write=False)
    try:
        if scan.find_proof(file, name.seed, 0, 0) is not None:
            raise DamagedLog(str(name), 0, *scan.explain(file, name.seed, 0))
    finally:
        file.close()


def _follow(chain: Chain, names: dict[int, ChunkName], heads: dict[int, Head], newest: int) -> None:
    at: int | None = newest
    while at is not None:
        if at not in heads:
            raise DamagedLog(str(names[at]), 0, "the chunk's head, which its successor proves to be durable", "none")
        chain.links.append(Link(names[at], heads[at]))
        following = heads[at].predecessor
        chain.leftovers += [names[other] for other in names if (following or 0) < other < at]
        if following is not None and following not in names:
            _check_no_gap(names, following, at)
            return
        at = following


def _check_no_gap(names: dict[int, ChunkName], missing: int, at: int) -> None:
    older = [other for other in names if other < missing]
    if older:
        raise ChunkGap(str(names[max(older)]), str(names[at]), missing)
