"""The guide's examples run as they stand; what the commands print, draw and exit with."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from tests.spark.faults import missing_segment
from tests.spark.stored import Stored, fill, records
from tests.support.broker_process import BrokerProcess
from typer.testing import CliRunner

from holdfast.broker.topics import Topics
from holdfast.cli.main import app

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "pipelines.md"
ON_SPARK = ("archive", "audit", "compact", "merge")


def run(*arguments: str) -> Any:
    """A command in this process, on the session that is there."""
    return CliRunner().invoke(app, list(arguments))


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path / "data")
    yield process
    process.__exit__()


def shell(line: str, folder: Path) -> None:
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(["bash", "-ec", line], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_the_examples(spark: Any, broker: BrokerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4, P5: every line of the guide's three examples does what the text beside it says. The test of P4."""
    monkeypatch.chdir(tmp_path)
    said = [line for block in blocks()[:4] for line in re.split(r"\n(?!  )", block.strip())]
    printed = []
    for line in said:
        if line.startswith("holdfast serve"):
            broker.start()
        elif line.startswith("kill"):
            assert broker.stop() == 0
        elif line.split()[1] in ON_SPARK and line.startswith("holdfast"):
            done = run(*shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
            printed.append(done.stdout)
        else:
            here = f"--bootstrap {broker.address}"
            shell(re.sub(r"holdfast (topic create|produce|wait|flush)", rf"holdfast \1 {here}", line), tmp_path)
    archived = ds.dataset(tmp_path / "archive", partitioning="hive").to_table()
    assert archived.num_rows == 5
    assert "0 rows added" in printed[1]
    assert "sound: 100.0000 % of 8 offsets" in printed[2]
    assert (tmp_path / "audit.png").read_bytes().startswith(b"\x89PNG")
    assert_lake(tmp_path / "lake")
    merged = [pq.read_table(each) for each in sorted((tmp_path / "merged").glob("*.parquet"))]
    assert sum(each.num_rows for each in merged) == 5
    assert "3 segments became 1, 2 records were let go" in printed[-2]
    assert json.loads(printed[-1])["sound"] is True


def assert_lake(folder: Path) -> None:
    from deltalake import DeltaTable

    rows = DeltaTable(str(folder)).to_pyarrow_table(columns=["id", "total"]).to_pylist()
    assert sorted((row["id"], row["total"]) for row in rows) == [(1, 9.5), (2, 12.0)]
    [letter] = DeltaTable(str(folder / "_dead_letters")).to_pyarrow_table().to_pylist()
    assert letter["value"] == b"not an order"
    assert "not JSON" in letter["reason"]


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    cluster = Stored(tmp_path / "data")

    async def work(topics: Topics) -> None:
        log = (await topics.create("orders", 1, {})).partition(0)
        await fill(log, [records(20 * n, 20) for n in range(3)], flush_every=1)

    cluster.run(work)
    return cluster


def test_an_audit_that_finds_something(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: a table, the problems, the sum, and exit code 1; the same as JSON."""
    missing_segment(stored)
    done = run("audit", "--path", stored.path)
    assert done.exit_code == 1
    assert "NOT SOUND: 66.6666 % of 60 offsets" in done.stdout
    assert "problem: orders-0" in done.stdout
    facts = json.loads(run("audit", "--path", stored.path, "--json").stdout)
    assert (facts["sound"], facts["missing"], facts["partitions"][0]["gaps"]) == (False, 20, [[20, 40]])


def test_a_task_that_fails_is_one_sentence(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: what an executor found is said in one sentence; --debug adds where it happened."""
    missing_segment(stored)
    done = run("archive", "orders", str(tmp_path / "out"), "--path", stored.path)
    assert done.exit_code == 1
    assert re.fullmatch(r"holdfast: segments/\S+ is not in the store, but manifest version 3 lists it\n", done.stderr)
    debug = run("archive", "orders", str(tmp_path / "out"), "--path", stored.path, "--debug")
    assert "archive_task" in "".join(debug.exception.__notes__)
    assert not list((tmp_path / "out").glob("topic=*"))


def test_a_library_that_fails_is_one_sentence(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: what Iceberg's catalog says is told as one sentence, too."""
    catalog = ["--to", "iceberg", "--catalog", "uri=sqlite:////nowhere/at/all.db"]
    done = run("archive", "orders", str(tmp_path / "out"), "--path", stored.path, *catalog)
    assert done.exit_code == 1
    assert done.stderr.startswith("holdfast: sqlalchemy failed: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["archive", "./out"], "say which topics go to ./out"),
        (["archive", "orders", "./out", "--value-format", "json"], "belong together"),
        (["archive", "orders", "./out", "--compression", "rar"], "none of snappy"),
        (["archive", "orders", "./out", "--catalog", "uri=x"], "is for Iceberg"),
        (["archive", "nobody", "./out"], "no topic nobody"),
        (["audit", "nobody"], "no topic nobody"),
        (["audit", "--path", "./absent"], "absent is not a directory: name a broker's data directory"),
        (["audit", "--path", "."], "holds no cluster: name a broker's data directory"),
        (["archive", "orders", "./out", "--value-format", "avro"], "belong together"),
        (["compact", "orders", "--conf", "x"], "not of the form"),
        (["merge", "orders:9", "--to", "./out"], "orders-9"),
    ],
)
def test_what_cannot_be_done(
    spark: Any, stored: Stored, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """P4: a wrong command says what to do, in one sentence, before anything runs."""
    monkeypatch.chdir(tmp_path)
    done = run(*arguments, *([] if "--path" in arguments else ["--path", stored.path]))
    assert done.exit_code == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_place_with_something_else(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: nobody writes an archive into a data directory, a merge or another format, nor a merge into an archive."""
    where = ["--path", stored.path]
    archive, merged = str(tmp_path / "archive"), str(tmp_path / "merged")
    assert run("archive", "orders", archive, *where).exit_code == 0
    assert run("merge", "orders", "--to", merged, *where).exit_code == 0
    for arguments, said in [
        (["archive", "orders", archive, "--to", "delta"], "is a parquet archive, and cannot become one of delta"),
        (["archive", "orders", archive, "--to", "iceberg"], "is a parquet archive, and cannot become one of iceberg"),
        (["archive", "orders", stored.path], "is not empty, and holds no archive"),
        (["archive", "orders", merged], "holds a merge, and no archive"),
        (["merge", "orders", "--to", archive], "holds an archive already"),
        (["merge", "orders", "--to", merged], "holds a finished merge already"),
        (["merge", "orders", "--to", stored.path], "holds something already"),
    ]:
        done = run(*arguments, *where)
        assert done.exit_code == 1
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ON_SPARK)
def test_help_has_examples(command: str) -> None:
    """P4: each command shows how it is used."""
    assert f"holdfast {command} " in run(command, "--help").stdout.partition("Examples:")[2]


def test_plots(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P5: every pipeline draws what it did."""
    where = ["--path", stored.path, "--plot"]
    for command in (["archive", "orders", str(tmp_path / "a")], ["merge", "orders", "--to", str(tmp_path / "m")]):
        assert run(*command, *where, str(tmp_path / "p.png")).exit_code == 0
        assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "p.png").unlink()
    done = run("compact", "orders", *where, str(tmp_path / "p.png"))
    assert "3 segments became 1, 0 records were let go" in done.stdout
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
