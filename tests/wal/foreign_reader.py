"""A second reader of the format, written from docs/formats/wal.md alone: it shares no code with the first."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    _TABLE.append(_byte)


def crc32c(data: bytes, start: int = 0) -> int:
    crc = start ^ 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def log_id(body: bytes, at: int = 0) -> tuple[int, int] | None:
    there, epoch, index = struct.unpack_from("<BQQ", body, at)
    return (epoch, index) if there else None


@dataclass
class Chunk:
    """One file: its frames as (kind, round start, round, body), and where they end."""

    id: int
    frames: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    end: int = 0


def read_chunk(name: str, data: bytes) -> Chunk:
    """All valid frames from the beginning on."""
    number, salt = name.removesuffix(".wal").split("-")
    seed = crc32c(struct.pack("<QQ", int(number), int(salt, 16)))
    chunk = Chunk(int(number))
    while len(data) >= chunk.end + 24:
        crc, mark, kind, size, round_start, round_ = struct.unpack_from("<I3sBIIQ", data, chunk.end)
        end = chunk.end + 24 + size
        if mark != struct.pack("<I", seed)[:3] or end > len(data) or crc != crc32c(data[chunk.end + 4 : end], seed):
            break
        chunk.frames.append((kind, round_start, round_, data[chunk.end + 24 : end]))
        chunk.end = end
    return chunk


@dataclass
class Log:
    """What all frames say."""

    vote: tuple[int, int] | None = None
    last: tuple[int, int] | None = None
    committed: tuple[int, int] | None = None
    purged: tuple[int, int] | None = None
    user_data: bytes = b""
    entries: dict[int, tuple[int, bytes]] = field(default_factory=dict)  # By index: epoch and payload.

    def apply(self, kind: int, body: bytes) -> None:
        if kind in (1, 7):
            body = body[31:] if kind == 1 else body
            self.vote, self.last, self.committed, self.purged = (log_id(body, 17 * n) for n in range(4))
            self.user_data = body[68:]
        elif kind == 2:
            self.vote = log_id(body)
        elif kind == 3:
            self._append(body)
        elif kind == 4:
            self.last = log_id(body)
            end = self.last[1] if self.last else -1
            self.entries = {index: entry for index, entry in self.entries.items() if index <= end}
            if self.committed and self.committed[1] > end:
                self.committed = self.last
        elif kind == 5:
            self.purged = log_id(body)
            assert self.purged
            self.entries = {index: entry for index, entry in self.entries.items() if index > self.purged[1]}
            if self.last is None or self.last[1] < self.purged[1]:
                self.last = self.purged
        elif kind == 6:
            self.committed = log_id(body)

    def _append(self, body: bytes) -> None:
        epoch, first, count = struct.unpack_from("<qqI", body)
        sizes = struct.unpack_from(f"<{count}I", body, 20)
        at = 20 + 4 * count
        for number, size in enumerate(sizes):
            self.entries[first + number] = (epoch, body[at : at + size])
            at += size
        assert at == len(body)
        self.last = (epoch, first + count - 1)


def read_log(directory: Path) -> Log:
    """Replay a closed or torn log: every chunk up to the end that its successor records, the newest one to its end."""
    chunks = [read_chunk(path.name, path.read_bytes()) for path in sorted(directory.glob("*.wal"))]
    chain = [chunk for chunk in chunks if chunk.frames]
    log = Log()
    for chunk, following in zip(chain, [*chain[1:], None], strict=True):
        end, at = following_end(chunk, following), 0
        for kind, _, _, body in chunk.frames:
            if at < end:
                log.apply(kind, body)
            at += 24 + len(body)
    return log


def following_end(chunk: Chunk, following: Chunk | None) -> int:
    if following is None:
        return chunk.end
    predecessor, end = struct.unpack_from("<QI", following.frames[0][3], 11)
    assert predecessor == chunk.id
    return int(end)
