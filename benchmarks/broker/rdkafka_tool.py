"""librdkafka's own performance tool, built from the source that the rdkafka-sys crate carries. Built once."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.machine import CHECKOUT

CRATE = "rdkafka-sys"
VERSION = "=4.10.0"
_FOLDER = CHECKOUT / ".tools" / "librdkafka"
_TOOL = _FOLDER / "examples" / "rdkafka_performance"
_OPTIONS = [
    "--disable-ssl",
    "--disable-gssapi",
    "--disable-sasl",
    "--disable-curl",
    "--disable-zstd",
    "--disable-lz4-ext",
]


def build() -> Path | str:
    """The tool, or in one sentence why there is none."""
    if _TOOL.exists():
        return _TOOL
    for needed in ("cargo", "make", "gcc"):
        if shutil.which(needed) is None:
            return f"rdkafka_performance is not built because {needed} is missing"
    with tempfile.TemporaryDirectory() as folder:
        source = _fetch(Path(folder))
        if source is None:
            return f"the crate {CRATE} {VERSION} could not be fetched"
        shutil.rmtree(_FOLDER, ignore_errors=True)
        shutil.copytree(source, _FOLDER)
    for command in (["./configure", *_OPTIONS], ["make", "-j2", "libs"], ["make", "-C", "examples", _TOOL.name]):
        done = subprocess.run(command, cwd=_FOLDER, capture_output=True, text=True)
        if done.returncode:
            return f"rdkafka_performance could not be built: {done.stderr.strip().splitlines()[-1:]}"
    return _TOOL


def _fetch(folder: Path) -> Path | None:
    """The crate's copy of librdkafka, downloaded by cargo."""
    (folder / "src").mkdir()
    (folder / "src" / "lib.rs").write_text("")
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n{CRATE} = "{VERSION}"\n'
    )
    done = subprocess.run(
        ["cargo", "vendor", "--quiet", str(folder / "vendor")], cwd=folder, capture_output=True, text=True
    )
    found = folder / "vendor" / CRATE / "librdkafka"
    return found if done.returncode == 0 and found.exists() else None
