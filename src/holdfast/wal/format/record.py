"""What a frame says: the six kinds of records, the head of a chunk, and the marker. Bytes in, values out.

    1 HEAD      version u16, chunk id u64, predecessor (u8, id u64, end u32), start position u64, whole state
    2 VOTE      epoch and node, in the form of a log id
    3 APPEND    epoch u64, first index u64, count u32, size u32 of each payload, then the payloads
    4 TRUNCATE  log id of the last entry that stays, or none
    5 PURGE     log id
    6 COMMIT    log id
    7 STATE     whole state
    8 MARKER    u8: 1 when the log was closed after it; then perhaps zeros, which fill a block

A log id is u8 (0 = none), epoch u64, index u64. A whole state is the vote (in the form of a log id), last, committed,
purged, then the user data up to the end of the body.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from holdfast.types import Buffer
from holdfast.wal.format.frame import HEADER
from holdfast.wal.state import LogId, Vote, WalState

Bounds: TypeAlias = npt.NDArray[np.int64]  # Of payloads in a buffer: where each begins, and where the last one ends.

HEAD, VOTE, APPEND, TRUNCATE, PURGE, COMMIT, STATE, MARKER = range(1, 9)
KIND_NAMES = {
    HEAD: "head",
    VOTE: "vote",
    APPEND: "append",
    TRUNCATE: "truncate",
    PURGE: "purge",
    COMMIT: "commit",
    STATE: "state",
    MARKER: "marker",
}
FORMAT_VERSION = 1
BLOCK_SIZE = 4096  # What a disk or a file system loses at once.

_ID = struct.Struct("<BQQ")
_HEAD = struct.Struct("<HQBQIQ")
APPEND_FIXED = struct.Struct("<qqI")  # Signed: what replay cannot count in signed numbers is never taken.
_APPEND_ONE = struct.Struct("<qqII")  # The same with the size of a single payload.
assert (_ID.size, _HEAD.size, APPEND_FIXED.size) == (17, 31, 20)  # On disk: changing one needs a new format version.


class Head(NamedTuple):
    """How a chunk begins: who it is, where its predecessor ends, and the whole state before its first record."""

    version: int
    chunk_id: int
    predecessor: int | None
    predecessor_end: int  # Bytes of the predecessor beyond this are ignored for ever.
    start: int  # The position of the chunk's first byte.
    state: WalState


def encode_id(log_id: tuple[int, int] | None) -> bytes:
    return _ID.pack(0, 0, 0) if log_id is None else _ID.pack(1, *log_id)


def decode_id(body: memoryview, offset: int = 0) -> LogId | None:
    present, epoch, index = _ID.unpack_from(body, offset)
    return LogId(epoch, index) if present else None


def encode_state(state: WalState) -> bytes:
    ids = (state.vote, state.last, state.committed, state.purged)
    return b"".join(map(encode_id, ids)) + state.user_data


def decode_state(body: memoryview) -> WalState:
    vote, last, committed, purged = (decode_id(body, number * _ID.size) for number in range(4))
    return WalState(Vote(*vote) if vote else None, last, committed, purged, bytes(body[4 * _ID.size :]))


def encode_head(head: Head) -> bytes:
    present = head.predecessor is not None
    fixed = _HEAD.pack(head.version, head.chunk_id, present, head.predecessor or 0, head.predecessor_end, head.start)
    return fixed + encode_state(head.state)


def head_version(body: memoryview) -> int:
    return int.from_bytes(body[:2], "little")


def decode_head(body: memoryview) -> Head:
    version, chunk_id, present, predecessor, end, start = _HEAD.unpack_from(body)
    return Head(version, chunk_id, predecessor if present else None, end, start, decode_state(body[_HEAD.size :]))


def encode_append(first: LogId, sizes: Sequence[int]) -> bytes:
    """An append record's body up to its payloads."""
    if len(sizes) == 1:
        return _APPEND_ONE.pack(*first, 1, sizes[0])
    return APPEND_FIXED.pack(first.epoch, first.index, len(sizes)) + struct.pack(f"<{len(sizes)}I", *sizes)


def padding_before_marker(end: int) -> int:
    """Bytes of the body of the frame that fills a chunk from byte `end` up to a border of blocks; 0: none needed."""
    gap = -end % BLOCK_SIZE
    if 0 < gap < HEADER.size + 2:  # No frame is so small; and one byte is the body of a marker that marks.
        gap += BLOCK_SIZE
    return gap - HEADER.size if gap else 0


def is_padding(kind: int, body: memoryview) -> bool:
    """Whether a frame only fills its block up, in front of a marker."""
    return kind == MARKER and len(body) > 1


class AppendedEntries(NamedTuple):
    """An append record: entries of one epoch at consecutive indexes."""

    first: LogId
    entry_count: int
    body: memoryview

    def payloads(self, start: int, end: int) -> list[memoryview]:
        """The payloads of the entries `[start, end)`, counted from the first."""
        if self.entry_count == 1:
            return [self.body[_APPEND_ONE.size :]][start:end]
        bounds = self.payload_bounds()[start : end + 1].tolist()
        return [self.body[begin:behind] for begin, behind in pairwise(bounds)]

    def payload_bounds(self) -> Bounds:
        """Where in the body each payload begins, and where the last one ends."""
        start = APPEND_FIXED.size + 4 * self.entry_count
        return bounds_of(start, np.frombuffer(self.body, "<u4", self.entry_count, APPEND_FIXED.size))


def bounds_of(start: int, sizes: Sequence[int] | npt.NDArray[np.uint32]) -> Bounds:
    """Where each payload begins when the first does at `start`, and where the last one ends."""
    bounds = np.empty(len(sizes) + 1, np.int64)
    bounds[0] = start
    np.cumsum(sizes, dtype=np.int64, out=bounds[1:])
    bounds[1:] += start
    return bounds


def decode_append(body: memoryview) -> AppendedEntries:
    epoch, index, count = APPEND_FIXED.unpack_from(body)
    return AppendedEntries(LogId(epoch, index), count, body)


def payload_of(buffers: Buffer | tuple[Buffer, ...]) -> Buffer:
    """A payload as one buffer; one given in pieces is joined."""
    return b"".join(buffers) if isinstance(buffers, tuple) else buffers
