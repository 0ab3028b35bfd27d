"""librdkafka from source, as the rdkafka-sys crate carries it: for its own performance tool and its own test suite."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

CRATE = "rdkafka-sys"
VERSION = "=4.10.0"  # librdkafka 2.12.1.
FOLDER = Path(__file__).parents[2] / ".tools" / "librdkafka"
_OPTIONS = [
    "--disable-gssapi",
    "--disable-sasl",
    "--disable-curl",
    "--disable-zstd",
    "--disable-lz4-ext",
]


def build(result: str, *commands: Sequence[str]) -> Path | str:
    """A file that these commands build in the source tree, once; or in one sentence why there is none."""
    path = FOLDER / result
    if path.exists():
        return path
    for needed in ("cargo", "make", "gcc", "g++"):
        if shutil.which(needed) is None:
            return f"{path.name} of librdkafka is not built because {needed} is missing"
    is_built = (FOLDER / "src" / "librdkafka.a").exists()
    if not is_built and (failed := _fetch()):
        return failed
    first = [] if is_built else [["./configure", *_OPTIONS], ["make", "-j2", "libs"]]
    for command in [*first, *commands]:
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
        if done.returncode:
            return f"{path.name} of librdkafka could not be built: {done.stderr.strip().splitlines()[-1:]}"
    return path


def _fetch() -> str | None:
    """The crate's copy of librdkafka, downloaded by cargo; or why it could not be."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "src").mkdir()
        (folder / "src" / "lib.rs").write_text("")
        (folder / "Cargo.toml").write_text(
            f'[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n{CRATE} = "{VERSION}"\n'
        )
        command = ["cargo", "vendor", "--quiet", str(folder / "vendor")]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        found = folder / "vendor" / CRATE / "librdkafka"
        if done.returncode or not found.exists():
            return f"the crate {CRATE} {VERSION} could not be fetched"
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.copytree(found, FOLDER)
    return None
