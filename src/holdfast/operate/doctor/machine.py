"""The doctor looks at the machine: Python, packages, Java, limits, ports, compiled code."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

from holdfast.errors import Rejected
from holdfast.extras import how_to_get
from holdfast.io.address import bind, parse_address
from holdfast.native import ADVICE, has_numba, kernels
from holdfast.operate.doctor.finding import DoctorFinding, advice, missing, ok

PYTHON_MIN = (3, 11)
WARM = tuple(f"holdfast.{each}.warm" for each in ("record", "segment", "subscribe", "sync"))  # Those of numba.
JAVA_MIN = 17  # What Spark 4 asks for.
FILES_MIN = 1024
FILES_WELL = 16_384
_JAVA_S_MAX = 30


def python(version: tuple[int, int] = sys.version_info[:2]) -> DoctorFinding:
    said = f"{version[0]}.{version[1]} at {sys.executable}"
    if version < PYTHON_MIN:
        return missing("python", said, "install Python 3.11 or newer")
    return ok("python", said)


def packages() -> DoctorFinding:
    """What `pip install holdfast` brings along."""
    stated = [each for each in importlib.metadata.requires("holdfast") or [] if "extra ==" not in each]
    needed = [re.split(r"[ ;<>=!~\[(]", each)[0] for each in stated]
    absent = [name for name in needed if not _is_installed(name)]
    if absent:
        return missing("packages", f"missing: {', '.join(absent)}", f"pip install {' '.join(absent)}")
    return ok("packages", f"all {len(needed)} are there")


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def open_files(limit: int | None = None) -> DoctorFinding:
    """Each connection takes one, and so does each chunk."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if limit is None else limit
    if soft == resource.RLIM_INFINITY or soft >= FILES_WELL:
        return ok("open files", "no limit" if soft == resource.RLIM_INFINITY else f"up to {soft}")
    todo = f"raise it: ulimit -n {FILES_WELL}, or LimitNOFILE= in the systemd unit"
    if soft < FILES_MIN:
        return missing("open files", f"up to {soft}, and {FILES_MIN} are needed", todo)
    return advice("open files", f"up to {soft}: so many connections at most", todo)


def port(check: str, address: str, *, is_served: bool = False) -> DoctorFinding:
    """Whether an address can be listened on; where a broker runs already, it may be the one that does."""
    try:
        bound = bind(parse_address(address))
    except Rejected as failure:
        if is_served:
            return ok(check, f"{address} is taken: a broker runs on this data directory")
        return missing(check, str(failure), "stop what listens there, or choose another address")
    taken = bound.getsockname()[1]
    bound.close()
    return ok(check, f"{address} is free" if not address.endswith(":0") else f"a free one, such as {taken}")


def compiled_code() -> DoctorFinding:
    """Whether loops are machine code: from C, or from numba, at installation or else when they are first needed."""
    import holdfast

    if kernels is not None:
        return ok("compiled code", "from C")
    if not has_numba():
        todo = f"for five times the records/s: {ADVICE}"
        return advice("compiled code", "none: records are looked at in Python", todo)
    folder = Path(holdfast.__file__).parent
    places = [folder, Path(os.environ.get("NUMBA_CACHE_DIR") or folder)]
    kept = [each for place in places for each in place.rglob("read_loops.*.nbi")]
    if kept:
        return ok("compiled code", f"kept in {kept[0].parent}")
    todo = " && ".join(f"python -m {each}" for each in WARM)
    return advice("compiled code", "not there yet: whoever needs it first waits some seconds", todo)


def java() -> DoctorFinding:
    """Spark runs on it; a broker does not need it."""
    command = shutil.which("java")
    todo = f"for pipelines on Spark install a JDK, {JAVA_MIN} or newer"
    if command is None:
        return advice("java", "none", todo)
    try:
        done = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=_JAVA_S_MAX)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return advice("java", f"{command} does not work: {failure}", todo)
    version = java_version(done.stderr + done.stdout)
    if version is None or version < JAVA_MIN:
        return advice("java", f"{version or 'an unknown version'} at {command}", todo)
    return ok("java", f"{version} at {command}")


def java_version(said: str) -> int | None:
    """The release, from what `java -version` says: 1.8 is 8."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def pyspark() -> DoctorFinding:
    if importlib.util.find_spec("pyspark") is None:
        return advice("pyspark", "none", f"for pipelines on Spark: {how_to_get('spark')}")
    version = importlib.metadata.version("pyspark")
    if int(version.split(".")[0]) < 4:
        return advice("pyspark", version, f"pipelines need PySpark 4: {how_to_get('spark')}")
    return ok("pyspark", version)
