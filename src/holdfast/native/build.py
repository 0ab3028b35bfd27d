"""Build the machine code: called when Holdfast is installed or packed. Needs a C compiler and the headers of Python.

The module is built against Python's stable interface, so that one file does for 3.11 and all that come after it.
"""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

_HERE = Path(__file__).parent
_SOURCES = _HERE / "source"
BUILT = _HERE / "kernels.abi3.so"
_STABLE_FROM = "0x030B0000"
_FLAGS = ("-std=c11", "-O3", "-fwrapv", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden")  # Numbers go round.
_LINKED = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()


def source_number() -> int:
    """Tells one state of the sources from others; 0 where they are not, as in a wheel."""
    number = 0
    for path in sorted(_SOURCES.glob("*.[ch]")):
        number = zlib.crc32(path.read_bytes(), number)
    return number & 0x7FFFFFFF


def is_current(number: int) -> bool:
    """Whether what was built from this state of the sources may be used."""
    return not _SOURCES.exists() or number == source_number()


def build() -> str:
    """Build it beside this file. Why it was not, in one sentence; empty if it was."""
    reason = _build()
    if reason:
        BUILT.unlink(missing_ok=True)
    return reason


def _build() -> str:
    import shlex  # Here, and all of these, because whoever imports Holdfast asks this file what is current.
    import shutil
    import subprocess
    import sysconfig

    compiler = shutil.which(os.environ.get("CC") or "cc")
    include = Path(sysconfig.get_paths()["include"])
    if compiler is None:
        return "no C compiler (cc) is there: small requests and large batches will take longer"
    if not (include / "Python.h").exists():
        return f"{include} has no Python.h (on Debian the package python3-dev): small requests will take longer"
    made = BUILT.with_suffix(f".{os.getpid()}")
    defined = (f"-DPy_LIMITED_API={_STABLE_FROM}", f"-DHOLDFAST_SOURCE={source_number()}")
    sources = [str(path) for path in sorted(_SOURCES.glob("*.c"))]
    wished = shlex.split(os.environ.get("CFLAGS", ""))
    command = [compiler, *_FLAGS, *wished, *_LINKED, *defined, f"-I{include}", "-shared", *sources, "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        made.unlink(missing_ok=True)
        return f"{compiler} could not build the machine code: {done.stderr.strip()[-2000:]}"
    made.replace(BUILT)  # Whoever runs with the one before keeps it.
    return ""


if __name__ == "__main__":
    if reason := build():
        print(reason, file=sys.stderr)
