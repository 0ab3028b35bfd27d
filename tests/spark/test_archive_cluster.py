"""An archive on a cluster: executors are processes of their own, and their Python has only what was shipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.archived import EXPECTED, Parquet, check, make_orders
from tests.spark.shipped import BARE, link_modules
from tests.support.spark_session import no_spark

PROGRAM = """
import sys
from holdfast.cli.main import main
from holdfast.spark import session
from holdfast.spark.session.ship import pack_modules

session.pack_modules = lambda folder: pack_modules(folder, ["crc32c"])  # The others are linked: see PYTHONPATH.
sys.exit(main())
"""


def linked_spark(place: Path) -> Path:
    """Spark where it may write: a cluster of its own leaves the work of its executors at home."""
    import pyspark

    place.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():
        if each.name != "work":
            (place / each.name).symlink_to(each)
    return place


@pytest.mark.slow
@pytest.mark.timeout(600)  # Two JVMs start, and the machine may be busy.
def test_on_executors_of_their_own(tmp_path: Path) -> None:
    """P4: every record comes once, though tasks have nothing but the modules that are shipped; here they are linked."""
    reason = no_spark()
    if reason:
        pytest.skip(reason)
    cluster = make_orders(tmp_path / "data")
    conf = {
        "spark.executorEnv.PYTHONPATH": str(link_modules(tmp_path / "modules")),
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    target = Parquet(None, tmp_path)
    command = ["archive", "orders", str(target.folder), "--path", cluster.path, "--master", "local-cluster[1,2,512]"]
    command += [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": str(BARE), "SPARK_HOME": str(linked_spark(tmp_path / "spark"))},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    assert "120 rows added" in done.stdout
    check(target.read(), EXPECTED)
