"""`holdfast doctor` sees what is missing, says what to do, and leaves nothing behind."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from holdfast.cli.main import app
from holdfast.io.chance import SystemChance
from holdfast.io.clock import ManualClock, SystemClock
from holdfast.io.objects.faulty import FailBefore, FaultyObjects
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.objects.open import open_objects
from holdfast.operate.doctor import machine, storage
from holdfast.operate.doctor.finding import DoctorFinding, FindingState
from holdfast.types import Buffer


def doctor(*options: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *options])


def findings(done: Result) -> dict[str, dict[str, str]]:
    return {each["check"]: each for each in map(json.loads, done.stdout.splitlines())}


def test_a_machine_on_which_a_broker_can_run(tmp_path: Path) -> None:
    done = doctor("--data", str(tmp_path), "--listen", "127.0.0.1:0", "--json")
    assert done.exit_code == 0, done.output
    found = findings(done)
    needed = ("python", "packages", "data directory", "disk sync", "free space", "open files", "Kafka port", "store")
    assert all(found[name]["state"] in ("ok", "advice") for name in needed)
    assert {"compiled code", "java", "pyspark"} <= found.keys()
    assert list(tmp_path.iterdir()) == []


def test_the_table_says_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        done = doctor("--data", str(tmp_path), "--listen", taken)
    assert done.exit_code == 1
    assert f"cannot listen on {taken}" in done.stdout
    assert "stop what listens there, or choose another address" in done.stdout
    assert "a broker cannot run here: Kafka port" in done.stderr


def test_a_file_system_that_makes_nothing_is_a_finding() -> None:
    """O1: also for root, to whom everything looks as if it could be written."""
    done = doctor("--data", "/proc/nope", "--listen", "127.0.0.1:0", "--json")
    assert done.exit_code == 1
    assert findings(done)["data directory"]["state"] == "missing"
    assert "a broker cannot run here: data directory" in done.stderr


def test_a_directory_that_is_there_is_not_to_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert storage.data_directory(Path("data")).found == "data can be made"
    (tmp_path / "data").mkdir()
    assert storage.data_directory(Path("data")).found == "data"


def test_nothing_that_is_said_is_cut(tmp_path: Path) -> None:
    """However long a store's own words are: which check it is, how it is, and what to do can be read."""
    found = DoctorFinding("store", FindingState.MISSING, "s3://bucket: " + "a long story " * 40, "check its name")
    first, second = str(found).splitlines()
    assert first.split()[:2] == ["store", "missing"]
    assert first.endswith("story ")
    assert second.strip() == "→ check its name"


def test_the_port_of_subscribers_is_looked_at_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2: a broker that is told to listen there would not start."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        monkeypatch.setenv("HOLDFAST_SUBSCRIBE_LISTEN", f"127.0.0.1:{other.getsockname()[1]}")
        done = doctor("--data", str(tmp_path), "--listen", "127.0.0.1:0", "--json")
    assert done.exit_code == 1
    assert findings(done)["subscribers' port"]["state"] == "missing"


def test_a_directory_that_is_none_is_missing_and_one_that_is_not_there_yet_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = doctor("--data", str(tmp_path / "file"), "--listen", "127.0.0.1:0", "--json")
    assert done.exit_code == 1
    assert findings(done)["data directory"]["state"] == "missing"
    assert storage.data_directory(tmp_path / "new" / "deep").state is FindingState.OK
    assert not (tmp_path / "new").exists()


def test_an_unknown_store_is_missing(tmp_path: Path) -> None:
    done = doctor("--data", str(tmp_path), "--listen", "127.0.0.1:0", "--store", "ftp://there", "--json")
    assert done.exit_code == 1
    assert "names no object store" in findings(done)["store"]["found"]


class Careless(MemoryObjects):
    """A store whose put-if-absent never looks whether something is there."""

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        self.put(name, data)


def test_a_store_without_conditional_puts_is_found_out() -> None:
    found = storage.store(Careless(), SystemChance())
    assert found.state is FindingState.MISSING
    assert f"of {storage.RACERS} writers of one name {storage.RACERS} succeeded" in found.found


def test_a_store_that_fails_is_missing_and_its_reason_is_said() -> None:
    broken = FaultyObjects(MemoryObjects(), lambda call: FailBefore())
    found = storage.store(broken, SystemChance())
    assert found.state is FindingState.MISSING
    assert "check its name, your credentials" in found.todo
    assert "failed to put" in found.found  # What failed first, not the delete after it.


def test_a_store_that_works_keeps_nothing_of_it(tmp_path: Path) -> None:
    objects = LocalObjects(str(tmp_path / "objects"))
    assert storage.store(objects, SystemChance()).state is FindingState.OK
    assert list(objects.list("")) == []


@pytest.mark.s3
def test_a_real_s3_server_takes_a_name_once(s3_store: tuple[str, dict[str, Any]]) -> None:
    url, options = s3_store
    assert storage.store(open_objects(url, options), SystemChance()).state is FindingState.OK


class SlowClock(ManualClock):
    """Each look at it takes 20 ms."""

    def monotonic(self) -> float:
        self.advance(0.02)
        return super().monotonic()


def test_a_slow_disk_and_one_that_forgets_are_told_apart(tmp_path: Path) -> None:
    assert "choose a faster disk" in storage.disk_sync(tmp_path, SlowClock(), SystemChance()).todo
    assert "too fast to be true" in storage.disk_sync(tmp_path, ManualClock(), SystemChance()).todo
    assert storage.disk_sync(tmp_path, SystemClock(), SystemChance()).state is not FindingState.MISSING
    assert list(tmp_path.iterdir()) == []


def test_free_space_is_held_against_what_is_needed(tmp_path: Path) -> None:
    assert storage.free_space(tmp_path, 1 << 60).state is FindingState.MISSING
    assert storage.free_space(tmp_path, 0).state is not FindingState.MISSING


@pytest.mark.parametrize(
    ("limit", "state"), [(256, FindingState.MISSING), (4096, FindingState.ADVICE), (65_536, FindingState.OK)]
)
def test_the_limit_of_open_files(limit: int, state: FindingState) -> None:
    assert machine.open_files(limit).state is state


def test_an_old_python_is_missing() -> None:
    assert machine.python((3, 10)).state is FindingState.MISSING
    assert machine.python((3, 11)).state is FindingState.OK


@pytest.mark.parametrize(
    ("said", "version"),
    [('openjdk version "17.0.9" 2023', 17), ('java version "1.8.0_292"', 8), ("no such thing", None)],
)
def test_the_version_of_java(said: str, version: int | None) -> None:
    assert machine.java_version(said) == version
