"""What is sent to executors, opened by a Python that is not the driver's."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from tests.spark.shipped import BARE, link_modules
from tests.support.spark_store import StoredCluster
from typer.testing import CliRunner

from holdfast.cli.main import app
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.spark.source.options import parse
from holdfast.spark.source.schema import full_schema
from holdfast.spark.source.source import BatchReader

EXECUTOR = """
import pickle, sys
reader, parts = pickle.loads(open(sys.argv[1], "rb").read())
print(sum(batch.num_rows for part in parts for batch in reader.read(part)))
import holdfast
print(holdfast.__file__)
"""


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    """A reader of a topic of 20 records, as Spark sends it."""
    for partition in StoredCluster(LocalObjects(tmp_path / "store")).topic("t", 2):
        partition.count(10)
        partition.flush()
    options = parse({"path": str(tmp_path / "store"), "subscribe": "t"}, stream=False)
    reader = BatchReader(options, full_schema(include_headers=False))
    (tmp_path / "sent").write_bytes(cloudpickle.dumps((reader, reader.partitions())))
    return tmp_path / "sent"


def executor(sent: Path, *places: Path) -> subprocess.CompletedProcess[str]:
    """A Python with Spark's own modules and what lies in some places."""
    import pyspark

    spark = sorted((Path(pyspark.__file__).parent / "python" / "lib").glob("*.zip"))
    path = os.pathsep.join(map(str, (*places, *spark)))
    environment = {"PYTHONPATH": path, "PATH": os.environ["PATH"], "HOME": str(sent.parent)}
    command = [str(BARE), "-s", "-c", EXECUTOR, str(sent)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def pack(target: Path) -> Any:
    return CliRunner().invoke(app, ["spark", "pack", str(target)])


def test_an_executor_without_holdfast_says_so(sent: Path) -> None:
    """P1: which Python it is, what it lacks, and how it gets it: PYSPARK_PYTHON, or what is packed."""
    done = executor(sent)
    assert done.returncode == 1
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith(f"ImportError: holdfast cannot be imported by the Python of an executor, {BARE} (3.")
    assert "Set PYSPARK_PYTHON to a Python that has it, or give executors what `holdfast spark pack` writes" in said


def test_a_zip_for_who_has_the_packages(sent: Path, tmp_path: Path) -> None:
    """P1: `--py-files` brings Holdfast alone; all rows are read out of it, and no machine code is in it."""
    target = tmp_path / "holdfast.zip"
    packed = pack(target)
    assert packed.stdout == f"--py-files {target}\n"
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"holdfast", "pyspark_holdfast"}
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
    others = link_modules(tmp_path / "others")
    (others / "holdfast").unlink()
    done = executor(sent, target, others)
    assert done.stdout.splitlines() == ["20", str(target / "holdfast" / "__init__.py")], done.stderr


def test_a_name_that_says_nothing(tmp_path: Path) -> None:
    """P1: what is wanted is known by the ending of its name."""
    refused = pack(tmp_path / "holdfast.tgz")
    assert refused.exit_code == 1
    assert "neither in .tar.gz nor in .zip" in refused.stderr
    assert not (tmp_path / "holdfast.tgz").exists()


def test_a_reader_comes_back_as_it_was(sent: Path) -> None:
    """P1: also where it is opened by the driver's own Python."""
    reader, parts = cloudpickle.loads(sent.read_bytes())
    rows = [row for part in parts for batch in reader.read(part) for row in pa.Table.from_batches([batch]).to_pylist()]
    assert sorted((row["partition"], row["offset"]) for row in rows) == [(p, n) for p in range(2) for n in range(10)]
    assert sys.modules[type(reader).__module__] is sys.modules[BatchReader.__module__]
