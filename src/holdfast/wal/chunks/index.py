"""Which chunk, which epoch: finds an entry by its index, over all chunks."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from holdfast.wal.chunks.chunk import Chunk
from holdfast.wal.chunks.frame_index import FrameRange
from holdfast.wal.state import LogId

INDEX_MAX = 1 << 63


class EntryIndex:
    """All chunks of the log in order, with the runs of equal epochs over their entries."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self._epoch_starts: list[int] = []  # Where each run begins …
        self._epochs: list[int] = []  # … and its epoch.

    def add(self, chunk: Chunk, first: LogId, offset: int, size: int) -> None:
        chunk.places.add(first.index, offset, size)
        self.note_epoch(first)

    def note_epoch(self, first: LogId) -> None:
        """Entries from `first` on have its epoch."""
        if not self._epochs or self._epochs[-1] != first.epoch:
            self._epoch_starts.append(first.index)
            self._epochs.append(first.epoch)

    def truncate(self, index: int) -> None:
        """Forget the entries from `index` on."""
        for chunk in reversed(self.chunks):
            if chunk.first_index < index:
                chunk.places.truncate(index)
                break
            chunk.places.clear()
            chunk.first_index = index
        while self._epoch_starts and self._epoch_starts[-1] >= index:
            self._epoch_starts.pop()
            self._epochs.pop()

    def log_id(self, index: int, purged: LogId | None) -> LogId | None:
        """The log id of a live entry, or of the purge point."""
        if purged is not None and index == purged.index:
            return purged
        run = bisect_right(self._epoch_starts, index) - 1
        return LogId(self._epochs[run], index) if run >= 0 else None

    def epoch_run(self, start: int) -> tuple[LogId, int]:
        """The log id of a live entry, and the index behind the last one that may have its epoch."""
        run = bisect_right(self._epoch_starts, start) - 1
        end = self._epoch_starts[run + 1] if run + 1 < len(self._epoch_starts) else INDEX_MAX
        return LogId(self._epochs[run], start), end

    def places_from(self, start: int, end: int, size_max: int) -> tuple[Chunk, list[FrameRange], int]:
        """Frames of one chunk that hold the live entries from `start` on, and the index up to which they do."""
        chunk_number = bisect_right(self.chunks, start, key=lambda chunk: chunk.first_index) - 1
        chunk = self.chunks[chunk_number]
        number = chunk.places.number_of(start)
        places = [chunk.places[number]]
        while number + len(places) < len(chunk.places):
            place = chunk.places[number + len(places)]
            if place.first_index >= end or place.end - places[0].offset > size_max:
                return chunk, places, min(end, place.first_index)
            places.append(place)
        if chunk_number + 1 < len(self.chunks):
            end = min(end, self.chunks[chunk_number + 1].first_index)
        return chunk, places, end

    def position_of(self, index: int) -> int | None:
        """Where the frame of an entry begins; None when it lies before all that have a place."""
        chunk_number = bisect_right(self.chunks, index, key=lambda chunk: chunk.first_index) - 1
        if chunk_number < 0:
            return None
        chunk = self.chunks[chunk_number]
        number = chunk.places.number_of(index)
        return chunk.start + chunk.places[number].offset if number >= 0 else chunk.start

    def first_place(self) -> int | None:
        """The lowest index that has a place."""
        return next((chunk.places.first_index for chunk in self.chunks if len(chunk.places)), None)

    def take_purged(self, first_index: int) -> list[Chunk]:
        """Remove and return the closed chunks whose entries are all below `first_index`, or cut."""
        free = 0
        for chunk, following in pairwise(self.chunks):
            if self._holds_live(chunk, following, first_index):
                break
            free += 1
        freed, self.chunks = self.chunks[:free], self.chunks[free:]
        self._forget_epochs(first_index)
        return freed

    @staticmethod
    def _holds_live(chunk: Chunk, following: Chunk, first_index: int) -> bool:
        # A chunk's entries end where the next chunk begins; a cut moves that border back.
        return len(chunk.places) > 0 and following.first_index > first_index

    def _forget_epochs(self, first_index: int) -> None:
        run = bisect_right(self._epoch_starts, first_index) - 1
        if run > 0:
            del self._epoch_starts[:run], self._epochs[:run]
