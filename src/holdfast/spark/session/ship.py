"""What executors on other machines need, as one archive: our package, and the packages that it imports there.

Packages with machine code are copied from this environment, so executors must run the same Python version on the same
kind of machine. PySpark itself is not among them: it is where Spark is.
"""

from __future__ import annotations

import importlib.metadata
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import holdfast
from holdfast.errors import Rejected
from holdfast.native import has_numba

ARCHIVE = "holdfast-modules.tar.gz"
ROOTS = (  # What executors import; those that write to topics ask a broker.
    "crc32c",
    "cramjam",
    "fastavro",
    *(("numba",) if has_numba() else ()),  # Where C is there, it comes with our package.
    "numpy",
    "obstore",
    "pyarrow",
)
_UNUSED = frozenset({"..", "tests", "include"})  # Commands, and what only builds and tests of others need.
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def pack_modules(folder: Path, roots: Iterable[str] = ROOTS) -> Path:
    """Write the archive into a folder. It is unpacked beside each executor, and that place is on its module path."""
    target = folder / ARCHIVE
    package = Path(holdfast.__file__).parent
    with tarfile.open(target, "w:gz", compresslevel=1) as archive:
        archive.add(package, "holdfast", filter=_without_caches)
        for source, name in installed_files(roots):
            archive.add(source, name)
    return target


def _without_caches(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if member.name.endswith(".pyc") else member


def installed_files(roots: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The files of some distributions and of all that they require: where each is, and its name below site-packages."""
    for distribution in _closure(roots):
        for file in distribution.files or ():
            if not _UNUSED.intersection(file.parts) and file.suffix != ".pyc":
                yield str(file.locate()), file.as_posix()


def _closure(roots: Iterable[str]) -> Iterator[importlib.metadata.Distribution]:
    waiting, seen = list(roots), set()
    while waiting:
        name = waiting.pop()
        key = name.lower().replace("_", "-")
        if key in seen:
            continue
        seen.add(key)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            if name in ROOTS:
                raise Rejected(f"{name} is not installed, but executors need it: install holdfast[spark]") from None
            continue  # For another platform or Python.
        yield found
        needed = (each for each in found.requires or () if "extra ==" not in each)
        waiting += [match[0] for each in needed if (match := _NAME.match(each))]
