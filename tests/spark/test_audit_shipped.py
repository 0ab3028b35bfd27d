"""What is shipped to executors is enough: a Python without any of our packages can import what tasks import."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from tests.spark.shipped import BARE, link_modules

from holdfast.spark.session.ship import pack_modules

PROGRAM = """
import sys
from holdfast.record.loops import read_loops
from holdfast.segment.compaction import key_loops
from holdfast.catalog import load
from holdfast.spark.source import tail
from holdfast.spark.sink import staging
from holdfast.spark.jobs import compact
from holdfast.spark.jobs.archive import write
from holdfast.spark.jobs.audit import segment
from holdfast.spark.jobs.merge import survey, write
from holdfast.spark.jobs.replay import stage
import fastavro
print([name for name in ("numpy", "holdfast", "pyarrow") if not sys.modules[name].__file__.startswith(sys.argv[1])])
"""


def test_modules_for_executors(tmp_path: Path) -> None:
    """P4: what goes to a cluster's executors holds all that their tasks import. To pack all of it takes long, so it is
    linked here, and only a small part is packed."""
    pytest.importorskip("fastavro", reason="the packages of the Spark part are missing")
    with tarfile.open(pack_modules(tmp_path, ["crc32c"])) as archive:
        archive.extractall(tmp_path / "modules", filter="data")
    assert (tmp_path / "modules" / "crc32c" / "__init__.py").exists()
    environment = {
        "PYTHONPATH": str(link_modules(tmp_path / "modules")),
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        [BARE, "-s", "-c", PROGRAM, str(tmp_path)], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
