"""One file of the log. An open chunk grows at its end; a closed one only waits to be read, and to be purged.

Names: `<id:020>-<salt:016x>.wal` for a chunk, `<id:020>.spare` for a purged file that waits to be used again.
Ids never repeat: the next one is above every id that any name in the directory carries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from holdfast.types import Position
from holdfast.wal.chunks.frame_index import FrameIndex
from holdfast.wal.format.frame import mark_of, seed_of

_CHUNK_NAME = re.compile(r"(\d{20})-([0-9a-f]{16})\.wal")
_SPARE_NAME = re.compile(r"(\d{20})\.spare")


@dataclass(frozen=True, slots=True)
class ChunkName:
    """What a chunk's name says."""

    id: int
    salt: int

    @property
    def seed(self) -> int:
        return seed_of(self.id, self.salt)

    def __str__(self) -> str:
        return f"{self.id:020}-{self.salt:016x}.wal"


def parse_chunk_name(name: str) -> ChunkName | None:
    match = _CHUNK_NAME.fullmatch(name)
    return ChunkName(int(match[1]), int(match[2], 16)) if match else None


def parse_spare_name(name: str) -> int | None:
    match = _SPARE_NAME.fullmatch(name)
    return int(match[1]) if match else None


def spare_name(chunk_id: int) -> str:
    return f"{chunk_id:020}.spare"


@dataclass(slots=True)
class Chunk:
    """A chunk of the log; the last one is open, all others are closed."""

    name: ChunkName
    start: Position  # The log's position of the chunk's first byte.
    end: int  # Bytes in use. Grows while the chunk is open.
    first_index: int  # The next index when the chunk began; a cut below it moves it back.
    places: FrameIndex = field(default_factory=FrameIndex)
    seed: int = field(init=False)
    mark: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.seed = self.name.seed
        self.mark = mark_of(self.seed)

    def position(self, offset: int) -> Position:
        return Position(self.start + offset)
