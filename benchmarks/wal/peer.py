"""Builds the peer, a small Rust program around the raft-log crate, when cargo is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from benchmarks.machine import CHECKOUT

SOURCE = Path(__file__).resolve().parent / "raft_log_peer"
TARGET = CHECKOUT / ".tools" / "raft_log_peer"
PROGRAM = TARGET / "release" / "raft_log_peer"


def build() -> tuple[Path | None, str]:
    """The peer's program, or None and why there is none."""
    cargo = shutil.which("cargo")
    if cargo is None:
        return None, "cargo is not installed, so the raft-log columns and the raw limit in Rust are empty"
    environment = os.environ | {"CARGO_TARGET_DIR": str(TARGET)}
    built = subprocess.run(
        [cargo, "build", "--release", "--quiet"], cwd=SOURCE, env=environment, stderr=subprocess.PIPE, text=True
    )
    if built.returncode:
        reason = (built.stderr.strip().splitlines() or ["no message"])[-1]
        return None, f"cargo could not build the raft-log peer, so its columns are empty: {reason}"
    return PROGRAM, ""


def versions() -> dict[str, str]:
    """Which crates cargo chose, and the compiler."""
    chosen = (SOURCE / "Cargo.lock").read_text()
    found = re.findall(r'name = "(raft-log|chunked-wal|codeq)"\nversion = "([^"]+)"', chosen)
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()
    return dict(found) | ({"rustc": compiler[1]} if len(compiler) > 1 else {})
