"""Little data is archived and audited in this process, without a JVM, and beside a running broker nothing is hidden."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Commands
from tests.support.broker_process import COMMAND, BrokerProcess

from holdfast.spark.jobs.run import Done, Unit, run_units
from holdfast.spark.session.session import check_master
from holdfast.spark.session.small import SmallFirst


def holdfast(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Where there is no Java to be found."""
    without = {name: value for name, value in os.environ.items() if name != "JAVA_HOME" and not name.startswith("HOLD")}
    return subprocess.run([COMMAND, *arguments], env=without | {"PATH": ""}, capture_output=True, text=True)


def archived(folder: Path) -> list[bytes]:
    return sorted(value for each in folder.rglob("*.parquet") for value in pq.read_table(each)["value"].to_pylist())


@pytest.fixture
def written(own_broker: BrokerProcess) -> Commands:
    commands = Commands(own_broker.address)
    commands.run("produce", "orders", stdin=b"one\ntwo\n")
    return commands


def test_what_is_in_no_segment_yet_is_counted_or_flushed_first(
    written: Commands, own_broker: BrokerProcess, tmp_path: Path
) -> None:
    """The archive beside a running broker says what it left out, and takes it when it may ask the broker."""
    place, where = str(tmp_path / "lake"), str(own_broker.data)
    done = holdfast("archive", "orders", place, "--path", where)
    assert done.returncode == 0, done.stderr
    assert "0 rows added" in done.stdout
    assert "2 acknowledged records of orders are in no segment yet" in done.stderr
    done = holdfast("archive", "orders", place, "--path", where, "--bootstrap", own_broker.address, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["rows"], told["left_out"]) == (2, {})
    assert "bytes are read in this process" in done.stderr
    assert archived(tmp_path / "lake") == [b"one", b"two"]


def test_an_audit_of_little_needs_no_java(written: Commands, own_broker: BrokerProcess) -> None:
    written.run("flush", "orders")
    done = holdfast("audit", "orders", "--path", str(own_broker.data))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("sound: 100.0000 % of 2 offsets")
    assert "in this process" in done.stderr


def test_none_means_never_spark(written: Commands, own_broker: BrokerProcess, tmp_path: Path) -> None:
    written.run("flush", "orders")
    done = holdfast("archive", "orders", str(tmp_path / "a"), "--path", str(own_broker.data), "--master", "none")
    assert done.returncode == 0, done.stderr
    assert "2 rows added" in done.stdout


@pytest.mark.parametrize(
    ("command", "takes"),
    [
        (["archive", "orders", "lake", "--master", "nonsense"], "none (in this process), local[*]"),
        (["audit", "orders", "--master", "localhost"], "none (in this process), local[*]"),
        (["archive", "orders", "lake", "--conf", "spark.master=nonsense"], "it is local[*]"),
        (["compact", "orders", "--master", "none"], "it is local[*]"),
    ],
)
def test_what_is_no_master_is_said_before_a_jvm_starts(command: list[str], takes: str, tmp_path: Path) -> None:
    """P4: in one sentence, with what a master may be."""
    done = holdfast(*command, "--path", str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "is no master of Spark" in done.stderr
    assert takes in done.stderr


@pytest.mark.parametrize(
    "master", ["local", "local[4]", "local[*,2]", "local-cluster[2, 1, 512]", "spark://a:1,b:1", "yarn", "k8s://x:443"]
)
def test_what_spark_takes_for_a_master_is_taken(master: str) -> None:
    check_master(master)


def test_more_than_little_is_for_spark_and_little_after_it_too() -> None:
    """Which way is decided by what is read; a session that has begun is used."""
    begun: list[str] = []
    said: list[int] = []
    session = SmallFirst(lambda: begun.append("spark") or "session", 100, said.append)
    seen: list[tuple[Done, Done]] = []
    units = [Unit(number, 1, 40) for number in range(2)]
    assert run_units(session, units, lambda each: each * 2, lambda *done: seen.append(done)) == [0, 2]
    assert seen[-1] == (Done(2, 2, 80), Done(2, 2, 80))
    assert (begun, said) == ([], [80])
    assert session.session_for(101) == "session"
    assert session.session_for(1) == "session"
    assert begun == ["spark"]


def test_a_job_in_this_process_loads_no_pyspark() -> None:
    jobs = "holdfast.spark.jobs.archive.archive, holdfast.spark.jobs.audit.audit"
    code = f"import sys, {jobs}; print('pyspark' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
