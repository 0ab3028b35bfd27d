"""How payloads become frames: runs of a handy size, and as few copies as pay off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.types import Buffer
from holdfast.wal.cache import Payload
from holdfast.wal.format.frame import HEADER
from holdfast.wal.format.record import APPEND_FIXED

_FRAME_SIZE_AIM = 1 << 20  # A frame is read and checked whole, so one entry of a huge append stays cheap to read.
_FRAME_ENTRIES_MAX = 4096
_SIZE_SIZE = 4  # What each entry's size takes in a frame.
_EMPTY_FRAME_SIZE = HEADER.size + APPEND_FIXED.size
_JOIN_BELOW = 4096  # Smaller payloads are copied into one buffer; larger ones are written from where they are.


class OpenRun:
    """Small entries that were appended one by one since the last frame: they become one frame when somebody flushes.

    A frame for each would cost more than all the rest of a small append, when it is written and when it is read.
    """

    __slots__ = ("_entries_max", "epoch", "frame_size", "payloads", "room", "sizes")

    def __init__(self) -> None:
        self.begin(0, 0, 0)

    def begin(self, epoch: int, frame_size_max: int, entries_max: int) -> None:
        """Entries of one epoch may come, as far as chunk and queue have room for them."""
        self.epoch = epoch
        self.frame_size = _EMPTY_FRAME_SIZE  # Of the frame that the entries make.
        self.payloads: list[bytes] = []
        self.sizes: list[int] = []
        self.room = frame_size_max - _EMPTY_FRAME_SIZE - _SIZE_SIZE  # For the next payload.
        self._entries_max = min(entries_max, _FRAME_ENTRIES_MAX)

    @property
    def size(self) -> int:
        """Bytes that wait here."""
        return self.frame_size if self.sizes else 0

    def add(self, payload: bytes, size: int) -> None:
        """Take an entry: the first, or one that there is room for."""
        self.payloads.append(payload)
        self.sizes.append(size)
        self.frame_size += _SIZE_SIZE + size
        self.room -= _SIZE_SIZE + size
        if len(self.sizes) >= self._entries_max:
            self.room = -1


def frame_size_of(size: int) -> int:
    """Bytes of the frame of a single entry."""
    return _EMPTY_FRAME_SIZE + _SIZE_SIZE + size


def joined(pieces: tuple[Buffer, ...], size: int) -> bytes | None:
    """One payload out of its pieces, if it is small enough to be copied; bytes are taken as they are."""
    if size >= _JOIN_BELOW:
        return None
    return pieces[0] if len(pieces) == 1 and type(pieces[0]) is bytes else _joined(pieces, size)


def fits_one_frame(count: int, size: int, entries_max: int) -> bool:
    """Whether `count` entries of `size` bytes in all make one frame."""
    return count == 1 or (size <= _FRAME_SIZE_AIM and count <= min(entries_max, _FRAME_ENTRIES_MAX))


def split(sizes: list[int], entries_max: int) -> Iterator[tuple[int, int]]:
    """Runs `[start, end)` of entries, each to become one frame."""
    entries_max = min(entries_max, _FRAME_ENTRIES_MAX)
    start = size = 0
    for number, entry_size in enumerate(sizes):
        if number > start and (size + entry_size > _FRAME_SIZE_AIM or number - start >= entries_max):
            yield start, number
            start, size = number, 0
        size += entry_size
    yield start, len(sizes)


def gather(fixed: bytes, payloads: Sequence[Payload], size: int) -> Sequence[Buffer]:
    """An append record's body of `size` bytes: small payloads copied into one buffer, large ones as they are."""
    if len(payloads) == 1 and size < _JOIN_BELOW and type(payloads[0]) is bytes:
        return [fixed + payloads[0]]  # The most frequent case by far.
    if len(payloads) == 1 and size < _JOIN_BELOW and type(payloads[0]) is tuple:
        return [_joined((fixed, *payloads[0]), size)]
    pieces: list[Buffer] = [fixed]
    for payload in payloads:
        if isinstance(payload, tuple):
            pieces += payload
        else:
            pieces.append(payload)
    if size < _JOIN_BELOW * len(payloads):
        return [_joined(pieces, size)]
    for piece in pieces:
        if not isinstance(piece, bytes | bytearray):
            view = memoryview(piece)
            if view.nbytes != len(view) or not view.contiguous:
                raise _not_bytes(len(view), view.nbytes)
    return pieces


def _joined(pieces: Sequence[Buffer], size: int) -> bytes:
    joined = b"".join(pieces)
    if len(joined) != size:
        raise _not_bytes(size, len(joined))
    return joined


def _not_bytes(items: int, size: int) -> ValueError:
    # A view of larger items counts items, not bytes: its frame would be shorter than what is written for it.
    return ValueError(f"a payload of {items} items has {size} bytes: give bytes, or an unbroken view of single bytes")
