"""What executors on other machines need, as one archive: our package, and the packages that it imports there.

Packages with machine code are copied from this environment, so executors must run the same Python version on the same
kind of machine. PySpark itself is not among them: it is where Spark is.

A zip holds our own modules alone, for executors that have the others: Python imports it as it is (`--py-files`), but no
machine code out of it, so that ours is left out and reads take longer.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import holdfast
from holdfast.errors import Rejected
from holdfast.native import has_numba

ARCHIVE = "holdfast-modules.tar.gz"
FINDER = "pyspark_holdfast"
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
    return pack_archive(folder / ARCHIVE, roots)


def pack_archive(target: Path, roots: Iterable[str] = ROOTS) -> Path:
    """Write an archive for `--archives`: our modules and all that they import."""
    with tarfile.open(target, "w:gz", compresslevel=1) as archive:
        for source, name in (*own_files(), *installed_files(roots)):
            archive.add(source, name)
    return target


def pack_zip(target: Path) -> Path:
    """Write a zip for `--py-files`: our modules alone."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for source, name in own_files():
            if Path(name).suffix != ".so":
                archive.write(source, name)
    return target


def own_files() -> Iterator[tuple[str, str]]:
    """Our own modules, and that by which PySpark finds them: where each file is, and its name below a module path."""
    for module in (holdfast, importlib.import_module(FINDER)):
        folder = Path(str(module.__file__)).parent
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                yield str(file), file.relative_to(folder.parent).as_posix()


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
