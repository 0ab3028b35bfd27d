"""Source and target are two places: neither the same, nor one inside the other, by whatever names they are called.

A copy onto itself removes what it reads. Names do not tell: a link, a mount of a folder in a second place (`mount
--bind`) or a `file://` URL is another name for the same files. So local folders are compared by device and inode, up to
the root, and by where they lie on their file system; stores elsewhere by bucket and prefix.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from holdfast.errors import Rejected

_MOUNTS = Path("/proc/self/mountinfo")
Steps = tuple[
    object, ...
]  # From the root to the place: one of two that lie in each other begins with all of the other.


def check_apart(source: Iterable[str], target: Iterable[str]) -> None:
    """Raise unless each of these paths and store URLs lies apart from each of those."""
    sources = list(source)
    for there in target:
        for here in sources:
            if _touch(here, there):
                told = "a copy onto itself would destroy what it saves"
                raise Rejected(f"{here} and {there} are the same place, or one is inside the other: {told}")


def _touch(here: str, there: str) -> bool:
    left, right = _local(here), _local(there)
    if left is None or right is None:
        return (left is None) is (right is None) and _nested(_elsewhere(here), _elsewhere(there))
    if _identity(left) in _identities(right) or _identity(right) in _identities(left):
        return True
    return _nested(_on_file_system(left), _on_file_system(right))


def _nested(one: Steps, other: Steps) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _local(place: str) -> Path | None:
    scheme, separator, _ = place.partition("://")
    if separator and scheme != "file":
        return None
    return Path(os.path.realpath(unquote(urlsplit(place).path) if separator else place))


def _elsewhere(url: str) -> Steps:
    parts = urlsplit(url)
    return (parts.scheme, parts.netloc, *(step for step in unquote(parts.path).split("/") if step))


def _identities(path: Path) -> set[tuple[int, int]]:
    """Of the folder and of all above it that are there."""
    found = {_identity(each) for each in (path, *path.parents)}
    return {each for each in found if each is not None}


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _on_file_system(path: Path) -> Steps:
    """Which file system, and the path from its root: the same for every place where a folder of it is mounted."""
    best: tuple[Path, Steps] = (Path("/"), ("", "/"))
    for device, root, point in _mounts():
        if path.is_relative_to(point) and len(point.parts) >= len(best[0].parts):  # Of two, the later one covers.
            best = (point, (device, *root.parts))
    return (*best[1], *path.relative_to(best[0]).parts)


def _mounts() -> list[tuple[str, Path, Path]]:
    """Device, folder of it, and where that is mounted; none on a system that does not tell."""
    try:
        lines = _MOUNTS.read_bytes().decode(errors="surrogateescape").splitlines()
    except OSError:
        return []
    fields = [line.split(" ") for line in lines]
    return [(each[2], Path(_plain(each[3])), Path(_plain(each[4]))) for each in fields if len(each) > 4]


def _plain(escaped: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        escaped = escaped.replace(code, character)
    return escaped
