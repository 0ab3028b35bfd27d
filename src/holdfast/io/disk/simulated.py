"""A disk in memory that crashes, tears, fails and fills up on demand; the same seed gives the same run.

What it injects:
- a crash before any chosen call (`crash_at`), as `PowerCut`, a BaseException that no code under test may swallow; a
  crash in a write leaves a part of it in the page cache;
- `power_cut`: every write since a file's last sync is split into sectors, and each sector survives or not by chance,
  so that writes are dropped, reordered and torn; the same for each change of names since the last `sync_names`;
- `kill`: the process is gone, the page cache is not: everything written is still there, and still not durable;
- failing calls by plan (`fail_next`): a write (nothing, or only a part of it, was written), a sync, a rename, a create.
  After a failed sync the pages count as clean: they can be read, a later sync succeeds, and a power cut takes those
  that had not reached the disk, which chance decides sector by sector;
- a full disk (`capacity`): a write that needs new blocks raises ENOSPC after writing what fits;
- a wrong byte in what a read returns (`misread_next`), once or a few times, of a file whose bytes are right;
- reads that hang (`during_read`), for as long as the test's own function does.

What it does not inject: durable bytes that rot or get lost (tests use `damage` and `lose_block`), a sector that is
itself torn, a sync that lies about success, reads that fail or return old data, anything about subdirectories, time
that passes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from holdfast.io.chance import Chance
from holdfast.io.disk import Locked
from holdfast.types import Buffer

SECTOR_SIZE = 512


class PowerCut(BaseException):
    """The machine stopped. Not an Exception: code that handles failures must not handle this."""


@dataclass(slots=True)
class _Inode:
    """One file's bytes: as readers see them, as they are on the platter, and the writes that lie between."""

    visible: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # (position, data), or (size, None): a cut.


class SimulatedDisk:
    """One directory on a simulated disk. Give it to the code under test as its Directory."""

    def __init__(self, chance: Chance, *, path: str = "/sim", capacity: int | None = None) -> None:
        self.path = path
        self.chance = chance
        self.capacity = capacity
        self.calls = 0  # Every call that changes something counts: each is a possible crash point.
        self.crash_at: int | None = None
        self.during_sync: Callable[[], None] | None = None  # What the rest of the process does while a sync runs.
        self.during_read: Callable[[str], None] | None = None  # The same while a file of this name is read.
        self._misread: dict[tuple[str, int], list[int]] = {}  # (file, position) → bits of each read that goes wrong.
        self._fail_next: dict[str, list[int]] = {}
        self._visible: dict[str, _Inode] = {}
        self._durable: dict[str, _Inode] = {}
        self._pending_names: list[tuple[str, str, _Inode | None]] = []
        self._locked = False
        self._generation = 0  # Handles of a process that is gone must not write any more.

    # Directory

    def names(self) -> list[str]:
        return sorted(self._visible)

    def open(self, name: str, *, create: bool = False, write: bool = True) -> SimulatedFile:
        if create:
            self._call("create")
            if name in self._visible:
                raise FileExistsError(errno.EEXIST, "File exists", name)
            self._visible[name] = _Inode()
            self._pending_names.append(("set", name, self._visible[name]))
        elif name not in self._visible:
            raise FileNotFoundError(errno.ENOENT, "No such file", name)
        return SimulatedFile(self, self._visible[name], self._generation, name, writable=write)

    def rename(self, old: str, new: str) -> None:
        self._call("rename")
        inode = self._visible[new] = self._take(old)
        self._pending_names += [("move", f"{old}\0{new}", inode)]

    def remove(self, name: str) -> None:
        self._call("remove")
        self._take(name)
        self._pending_names.append(("drop", name, None))

    def _take(self, name: str) -> _Inode:
        if name not in self._visible:
            raise FileNotFoundError(errno.ENOENT, "No such file", name)
        return self._visible.pop(name)

    def sync_names(self) -> None:
        self._call("sync_names")
        self._durable = dict(self._visible)
        self._pending_names.clear()

    def free_size(self) -> int:
        used = sum(len(inode.visible) for inode in self._visible.values())
        return (1 << 60) if self.capacity is None else max(self.capacity - used, 0)

    def lock(self, purpose: str) -> SimulatedLock:
        if self._locked:
            raise Locked(self.path, f"another process ({purpose})")
        self._locked = True
        return SimulatedLock(self)

    def unlock(self) -> None:
        self._locked = False

    # Faults

    def fail_next(self, call: str, *, error: int = errno.EIO, after: int = 0) -> None:
        """Let a later call of this kind (write, sync, rename, create, remove, sync_names) fail; `after` others pass."""
        self._fail_next[call] = [error, after]

    def kill(self) -> None:
        """End the process: its locks and open files are gone, its writes are in the page cache."""
        self._locked = False
        self._generation += 1
        self.crash_at = None
        self.during_read = None
        self._fail_next.clear()
        self._misread.clear()

    def power_cut(self) -> None:
        """Stop the machine: of what is not durable, chance decides sector by sector and name by name."""
        self.kill()
        self._lose_names()
        for inode in self._visible.values():
            self._lose_writes(inode)

    def damage(self, name: str, position: int, bits: int = 0xFF) -> None:
        """Flip bits of one durable byte."""
        inode = self._visible[name]
        inode.visible[position] ^= bits
        inode.durable[position] ^= bits

    def misread_next(self, name: str, position: int, bits: int = 0xFF, times: int = 1, after: int = 0) -> None:
        """Let the next reads of one byte, so many of them, see it with some bits flipped; the file itself is right.

        `after` others pass.
        """
        self._misread[name, position] = [bits] * times + [0] * after

    def lose_block(self, name: str, position: int, instead: bytes) -> None:
        """Put other bytes in the place of durable ones: what a block holds that the device has lost."""
        inode = self._visible[name]
        _patch(inode.visible, position, instead)
        _patch(inode.durable, position, instead)

    def content(self, name: str) -> bytearray:
        """A file's bytes as a reader sees them."""
        return self._visible[name].visible

    def _lose_names(self) -> None:
        names = dict(self._durable)
        for action, name, inode in self._pending_names:
            if self.chance.fraction() < 0.5:
                continue
            if action == "set" and inode is not None:
                names[name] = inode
            elif action == "drop":
                names.pop(name, None)
            elif action == "move":
                old, new = name.split("\0")
                if old in names:
                    names[new] = names.pop(old)
        self._visible, self._durable = names, dict(names)
        self._pending_names.clear()

    def _lose_writes(self, inode: _Inode) -> None:
        self._settle(inode, inode.pending)
        inode.pending.clear()
        inode.visible = bytearray(inode.durable)

    def _settle(self, inode: _Inode, pending: list[tuple[int, bytes | None]]) -> None:
        """Let chance decide what of some writes reached the platter."""
        for position, data in pending:
            if data is None:
                if self.chance.fraction() < 0.5:
                    _resize(inode.durable, position)
                continue
            for start, sector in _sectors(position, data):
                if self.chance.fraction() < 0.5:
                    _patch(inode.durable, start, sector)

    def _call(self, kind: str) -> None:
        if self.crash_at is not None and self.calls >= self.crash_at:
            raise PowerCut(f"before call {self.calls} ({kind})")
        self.calls += 1
        plan = self._fail_next.get(kind)
        if plan is not None:
            if plan[1] == 0:
                del self._fail_next[kind]
                raise OSError(plan[0], os.strerror(plan[0]), kind)
            plan[1] -= 1

    # Files

    def write(self, inode: _Inode, position: int, data: bytes, generation: int) -> None:
        self._check_alive(generation)
        try:
            self._call("write")
        except (OSError, PowerCut):
            self._write_pages(inode, position, data[: int(len(data) * self.chance.fraction())])
            raise
        room = self._room(inode, position, len(data))
        self._write_pages(inode, position, data[:room])
        if room < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _write_pages(self, inode: _Inode, position: int, data: bytes) -> None:
        if data:
            _patch(inode.visible, position, data)
            inode.pending.append((position, data))

    def _room(self, inode: _Inode, position: int, size: int) -> int:
        if self.capacity is None:
            return size
        used = sum(len(other.visible) for other in self._visible.values())
        return max(min(size, len(inode.visible) - position + self.capacity - used), 0)

    def read(self, inode: _Inode, name: str, position: int, size: int) -> bytes:
        if self.during_read is not None:
            self.during_read(name)
        data = inode.visible[position : position + size]
        for (file, at), left in list(self._misread.items()):
            if file == name and position <= at < position + len(data):
                data[at - position] ^= left.pop()
                if not left:
                    del self._misread[file, at]
        return bytes(data)

    def sync(self, inode: _Inode, generation: int) -> None:
        self._check_alive(generation)
        pending, inode.pending = inode.pending, []
        try:
            if self.during_sync is not None:
                self.during_sync()
            self._call("sync")
        except PowerCut:
            inode.pending = pending + inode.pending
            raise
        except OSError:
            self._settle(inode, pending)  # All pages are now marked clean: `pending` has forgotten them.
            raise
        for position, data in pending:
            if data is None:
                _resize(inode.durable, position)
            else:
                _patch(inode.durable, position, data)

    def truncate(self, inode: _Inode, size: int, generation: int) -> None:
        self._check_alive(generation)
        self._call("truncate")
        _resize(inode.visible, size)
        inode.pending.append((size, None))

    def _check_alive(self, generation: int) -> None:
        if generation != self._generation:
            raise PowerCut("a process that is gone tried to write")


class SimulatedFile:
    """An open file of a simulated disk."""

    def __init__(
        self, disk: SimulatedDisk, inode: _Inode, generation: int, name: str = "", *, writable: bool = True
    ) -> None:
        self._disk = disk
        self._name = name
        self._inode = inode
        self._generation = generation
        self._writable = writable

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        if not self._writable:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        self._disk.write(self._inode, position, b"".join(buffers), self._generation)

    def read_at(self, position: int, size: int) -> bytes:
        return self._disk.read(self._inode, self._name, position, size)

    def sync(self) -> None:
        self._disk.sync(self._inode, self._generation)

    def uncache(self, position: int, size: int) -> None:
        pass

    def truncate(self, size: int) -> None:
        self._disk.truncate(self._inode, size, self._generation)

    def allocate(self, size: int) -> None:
        at = len(self._inode.visible)
        self._disk.write(self._inode, at, bytes(max(size - at, 0)), self._generation)

    def size(self) -> int:
        return len(self._inode.visible)

    def close(self) -> None:
        pass


class SimulatedLock:
    """A held simulated directory."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self._disk = disk

    def release(self) -> None:
        self._disk.unlock()


def _sectors(position: int, data: bytes) -> list[tuple[int, bytes]]:
    """A write cut at the borders of sectors."""
    pieces = []
    start = position
    while start < position + len(data):
        end = min((start // SECTOR_SIZE + 1) * SECTOR_SIZE, position + len(data))
        pieces.append((start, data[start - position : end - position]))
        start = end
    return pieces


def _patch(target: bytearray, position: int, data: bytes) -> None:
    if len(target) < position:
        target.extend(bytes(position - len(target)))
    target[position : position + len(data)] = data


def _resize(target: bytearray, size: int) -> None:
    if size < len(target):
        del target[size:]
    else:
        target.extend(bytes(size - len(target)))
