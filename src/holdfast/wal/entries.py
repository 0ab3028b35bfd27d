"""The log's entries, for who reads: the lock is held to look where they are, and never while the disk is read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from holdfast.io.disk import Directory
from holdfast.wal.cache import PayloadCache
from holdfast.wal.chunks.index import EntryIndex
from holdfast.wal.commit.rounds import Rounds
from holdfast.wal.errors import ReadBelowPurged
from holdfast.wal.read import Cached, Entry, EntryBlock, EntryReader, RawFrame, Stored
from holdfast.wal.state import Current, LogId

_CACHED_PER_STEP_MAX = 1024
_STORED_SIZE_PER_STEP = 1 << 20


class Entries:
    """A log's index, cache and state, as its readers see them."""

    def __init__(
        self,
        directory: Directory,
        lock: threading.Lock,
        rounds: Rounds,
        current: Current,
        index: EntryIndex,
        cache: PayloadCache,
        frame_all: Callable[[], None],  # Called under the lock: then cache and index know every entry.
    ) -> None:
        self._directory = directory
        self._lock = lock
        self._rounds = rounds
        self._current = current
        self._index = index
        self._cache = cache
        self._frame_all = frame_all

    def read(self, start: int, end: int) -> Iterator[Entry]:
        """The entries `[start, end)`, as far as there are any."""
        with self._lock:
            self._check_readable(start)
        return EntryReader(self._directory, self._peek, start, end).entries()

    def read_blocks(self, start: int, end: int) -> Iterator[EntryBlock]:
        """The same in blocks."""
        with self._lock:
            self._check_readable(start)
        return EntryReader(self._directory, self._peek, start, end).blocks()

    def read_raw(self, index: int) -> RawFrame:
        """What is where the frame of an entry should be, right or wrong; nothing, if its file is gone."""
        with self._lock:
            self._check_readable(index)
            self._frame_all()
            chunk, places, _ = self._index.places_from(index, index + 1, 1)
        name, place = str(chunk.name), places[0]
        try:
            file = self._directory.open(name, write=False)
        except FileNotFoundError:
            return RawFrame(name, place.offset, b"")
        try:
            return RawFrame(name, place.offset, file.read_at(place.offset, place.size))
        finally:
            file.close()

    def log_id(self, index: int) -> LogId | None:
        """The log id of the entry at an index, or of the purge point; None when there is none."""
        with self._lock:
            state = self._current.state
            if not state.first_index - 1 <= index < state.next_index:
                return None
            return self._index.log_id(index, state.purged)

    def _check_readable(self, start: int) -> None:
        self._rounds.check_open()
        if start < self._current.state.first_index:
            raise ReadBelowPurged(self._current.state.purged, start)

    def _peek(self, start: int, end: int) -> Cached | Stored | None:
        with self._lock:
            self._check_readable(start)
            end = min(end, self._current.next_index)
            if start >= end:
                return None
            self._frame_all()
            first, same_epoch_end = self._index.epoch_run(start)
            cached = self._cache.get(start, min(end, same_epoch_end, start + _CACHED_PER_STEP_MAX))
            if cached:
                return Cached(first, cached)
            found = Stored(*self._index.places_from(start, self._cache.end_of_miss(start, end), _STORED_SIZE_PER_STEP))
            self._cache.misses += found.end - start
            return found
