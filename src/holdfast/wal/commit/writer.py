"""The disk calls of the log: create a chunk file, write a round, make it durable, recycle what was purged.

Exactly one thread at a time is in here (it holds the seat, see `WriterThread`), and the order of the calls is the
whole point: a chunk's name is durable before its first byte is written, a round is durable before the next one is
written, and a purged file is given away only after the purge is durable, oldest first.

A disk that is full is not one that fails: a write that found no space may be made again, with the same bytes at the
same place, when whoever was asked (`OnFull`) says so. An fsync is never made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from holdfast.io.disk import Directory, File
from holdfast.io.disk.reserve import NO_SPACE
from holdfast.types import Buffer
from holdfast.wal.chunks.chunk import Chunk, spare_name
from holdfast.wal.commit.round import Round
from holdfast.wal.format.record import BLOCK_SIZE
from holdfast.wal.settings import WalSettings

_ZEROS_PER_WRITE = 16 << 10
_BLOCK_OF_ZEROS = memoryview(bytes(BLOCK_SIZE))
_UNCACHED_SIZE = 1 << 20  # So much at a time: a call for each small round would cost more than it saves.
_JOIN_BELOW = 128 << 10  # One copy of a small round is cheaper than the system's walk over many small buffers.


OnFull: TypeAlias = Callable[[], bool]  # The disk is full: whether to try again. May wait.


def give_up_when_full() -> bool:
    """Who does not wait for space stops."""
    return False


class WalWriter:
    """Writes rounds into the open chunk's file."""

    def __init__(
        self,
        directory: Directory,
        settings: WalSettings,
        spares: list[str],
        on_full: OnFull = give_up_when_full,
    ) -> None:
        self.path = directory.path
        self._directory = directory
        self._settings = settings
        self._spares = spares  # Names of purged files that wait to be used again.
        self._file: File | None = None
        self._written_end = 0  # Blocks of the file below this have been written once.
        self._used_end = 0  # An earlier use of the file has left its bytes below this.
        self._uncached_end = 0  # What is below this is durable, and not in the system's memory.
        self._zeros = bytes(settings.zero_ahead_size)
        self._on_full = on_full

    def write(self, round_: Round) -> None:
        """Write a round and make it durable. Raises OSError; then nothing may be written any more."""
        if round_.creates_chunk:
            self.create(round_.chunk)
        assert self._file is not None
        if not self._settings.keep_pages and (padding := self._padding(round_.start + round_.size)):
            round_.buffers.append(padding)
        self._write_at(round_.start, round_.buffers, round_.size)
        self._file.sync()

    def _padding(self, end: int) -> memoryview:
        """Zeros instead of what an earlier use of the file has left in the last block of a round, behind which nothing
        is yet: the system, whose memory does not have it, would read it before it could write."""
        left = max(self._used_end - end, 0)
        return _BLOCK_OF_ZEROS[: min(-end % BLOCK_SIZE, left)]

    def uncache(self, round_: Round) -> None:
        """The round is durable, and nobody reads it: its memory is used again at once, which costs a fraction of memory
        that has to be found. The last block stays: the next round may begin in it."""
        durable_end = round_.start + round_.size
        end = durable_end - durable_end % _UNCACHED_SIZE
        if end > self._uncached_end and self._file is not None and not self._settings.keep_pages:
            self._file.uncache(self._uncached_end, end - self._uncached_end)
            self._uncached_end = end

    def write_first(self, head: Sequence[Buffer], carried: Sequence[Buffer]) -> None:
        """Begin a chunk with what is carried over from the one before: the head comes last, and so proves the rest."""
        assert self._file is not None
        head_size = sum(map(len, head))
        if carried:
            self._write_at(head_size, carried, sum(map(len, carried)))
            self._file.sync()
        self._write_at(0, head, head_size)
        self._file.sync()

    def create(self, chunk: Chunk) -> None:
        """Make the chunk's file, from a spare when there is one; its name is durable on return."""
        self.close()
        name = str(chunk.name)
        while not self._name_file(name):
            pass
        self._directory.sync_names()
        if self._file is None:
            self._file = self._directory.open(name)
        self._written_end = self._used_end = self._file.size()
        self._uncached_end = 0

    def _name_file(self, name: str) -> bool:
        try:
            if self._spares:
                self._directory.rename(self._spares[-1], name)
                del self._spares[-1]
            else:
                self._file = self._directory.open(name, create=True)
        except OSError as failure:
            self._check_worth_trying(failure)
            return False
        return True

    def _write_at(self, offset: int, buffers: Sequence[Buffer], size: int) -> None:
        assert self._file is not None
        end = offset + size
        if size < _JOIN_BELOW and len(buffers) > 1:
            buffers = [b"".join(buffers)]
        while True:
            try:
                self._file.write_at(offset, buffers)
                break
            except OSError as failure:
                self._check_worth_trying(failure)
        if end > self._written_end:
            self._written_end = end
            self._write_ahead(end, self._zero_ahead(end, size))

    def _check_worth_trying(self, failure: OSError) -> None:
        """Raise the failure, unless it is only that there is no space, and may have become some."""
        if failure.errno not in NO_SPACE or not self._on_full():
            raise failure

    def _write_ahead(self, end: int, zeros: memoryview) -> None:
        try:
            self._written_end += self._write_zeros(end, zeros)
        except OSError as failure:
            if failure.errno not in NO_SPACE:  # They only make later fsyncs cheaper.
                raise

    def _write_zeros(self, offset: int, zeros: memoryview) -> int:
        # In small pieces: after one large write, each small write into the same place and its fsync took longer.
        assert self._file is not None
        for at in range(0, len(zeros), _ZEROS_PER_WRITE):
            self._file.write_at(offset + at, [zeros[at : at + _ZEROS_PER_WRITE]])
        return len(zeros)

    def _zero_ahead(self, end: int, size: int) -> memoryview:
        # An fsync that changes the file's size costs about twice as much. Small rounds therefore write zeros ahead
        # once for many rounds; for large rounds the zeros would cost more than they save.
        if size * 8 > len(self._zeros):
            return memoryview(b"")
        room = max(self._settings.chunk_size_max - end, 0)
        return memoryview(self._zeros)[: min(room, len(self._zeros))]

    def recycle(self, chunks: list[Chunk]) -> None:
        """Keep a few purged files for reuse, remove the rest: oldest first, each durable before the next."""
        for chunk in chunks:
            name = str(chunk.name)
            if len(self._spares) < self._settings.spares_max and self._is_full(name):
                spare = spare_name(chunk.name.id)
                self._directory.rename(name, spare)
                self._directory.sync_names()
                self._spares.append(spare)
            else:
                self._directory.remove(name)
                self._directory.sync_names()

    def _is_full(self, name: str) -> bool:
        file = self._directory.open(name, write=False)
        try:
            return self._settings.chunk_size_max // 2 <= file.size() <= self._settings.chunk_size_max
        finally:
            file.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
