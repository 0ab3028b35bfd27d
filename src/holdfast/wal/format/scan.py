"""Frames of one chunk file, one after the other, in windows: a chunk is never loaded whole."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.io.disk import File
from holdfast.wal.format.frame import BODY_SIZE_MAX, HEADER, Frame, decode, describe_bad, mark_of, stated_size

_WINDOW_SIZE = 4 << 20


def frames(file: File, seed: int, start: int, end: int | None = None) -> Iterator[Frame]:
    """The valid frames from `start` on, up to the first place where there is none, or up to `end`."""
    base = start
    window = memoryview(_read(file, base, _WINDOW_SIZE, end))
    offset = 0
    while True:
        frame = decode(window, offset, base, seed)
        if frame is None:
            base, offset = base + offset, 0
            size = max(_WINDOW_SIZE, stated_size(file.read_at(base, HEADER.size), seed))
            window = memoryview(_read(file, base, size, end))
            frame = decode(window, offset, base, seed)
            if frame is None:
                return
        yield frame
        offset += HEADER.size + len(frame.body)


def _read(file: File, start: int, size: int, end: int | None) -> bytes:
    return file.read_at(start, size if end is None else max(min(size, end - start), 0))


def read_frame(file: File, seed: int, offset: int, size: int) -> Frame | None:
    """The frame of `size` bytes at `offset`, or None when there is no valid one."""
    return decode(memoryview(file.read_at(offset, size)), 0, offset, seed)


def is_frame(file: File, seed: int, offset: int) -> bool:
    """Whether a valid frame is at `offset`."""
    return next(frames(file, seed, offset), None) is not None


def find_proof(file: File, seed: int, bad: int, last_round: int) -> Frame | None:
    """A later frame that proves the bytes at `bad` were durable once: then they are damaged, not torn."""
    base, mark = bad + 1, mark_of(seed)
    while len(window := file.read_at(base, _WINDOW_SIZE)) >= HEADER.size:
        at = window.find(mark, 4)
        while 4 <= at <= len(window) - HEADER.size + 4:
            _, _, _, size, round_start, round_ = HEADER.unpack_from(window, at - 4)
            offset = base + at - 4
            if bad < round_start <= offset and round_ > last_round and size <= BODY_SIZE_MAX:
                frame = read_frame(file, seed, offset, HEADER.size + size)
                if frame is not None:
                    return frame
            at = window.find(mark, at + 1)
        base += len(window) - HEADER.size + 1  # A header that lies across the border is whole in the next window.
    return None


def explain(file: File, seed: int, offset: int) -> tuple[str, str]:
    """What was expected at `offset` and what was found there."""
    size = max(stated_size(file.read_at(offset, HEADER.size), seed), HEADER.size)
    return describe_bad(memoryview(file.read_at(offset, size)), 0, seed)
