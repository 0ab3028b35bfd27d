"""The disk that the broker's write-ahead log is on: one of bounded size that a test fills, where it may mount one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.torture.controls import Controls

SIZE = 64 << 20
_BALLAST = "ballast"
_PIECE = bytes(1 << 20)


class MountedDisk:
    """A file system in memory, mounted for as long as a `with` block lasts. Being full is real there."""

    name = "a file system of its own"

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True)
        subprocess.run(_mount(self.path), check=True, capture_output=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=False, capture_output=True)

    def low(self) -> None:
        """Leave less than the broker holds back."""
        free = os.statvfs(self.path)
        size = free.f_bavail * free.f_frsize - len(_PIECE)
        with contextlib.suppress(OSError), (self.path / _BALLAST).open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, size))

    def full(self) -> None:
        """Leave nothing."""
        with (self.path / _BALLAST).open("ab", buffering=0) as file:
            for piece in (_PIECE, _PIECE[:4096]):
                _write_until_full(file.fileno(), piece)

    def quiet(self) -> None:
        (self.path / _BALLAST).unlink(missing_ok=True)


def _write_until_full(file: int, piece: bytes) -> None:
    try:
        while os.write(file, piece) == len(piece):
            pass
    except OSError as failure:
        if failure.errno != errno.ENOSPC:
            raise


class WrappedDisk:
    """The disk that there is; the broker's wrapper says that it is full."""

    name = "a wrapper that says so"

    def __init__(self, path: Path, controls: Controls) -> None:
        self.path = path
        self._controls = controls

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.quiet()

    def low(self) -> None:
        self._controls["free_size"] = 1000

    def full(self) -> None:
        self._controls["no_space"], self._controls["free_size"] = 1, 0

    def quiet(self) -> None:
        self._controls.quiet("no_space", "free_size")


def disk(path: Path, controls: Controls, *, mounted: bool) -> MountedDisk | WrappedDisk:
    """A disk of its own, if it is wanted and this user may mount one."""
    return MountedDisk(path) if mounted and can_mount(path.parent) else WrappedDisk(path, controls)


def can_mount(folder: Path) -> bool:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    trial = folder / "mount-trial"
    trial.mkdir()
    try:
        if subprocess.run(_mount(trial), check=False, capture_output=True).returncode:
            return False
        subprocess.run(["umount", str(trial)], check=True, capture_output=True)
        return True
    finally:
        trial.rmdir()


def _mount(path: Path) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(path)]
