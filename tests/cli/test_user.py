"""`holdfast user`: who may log in, before the first start and beside a broker that runs."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from tests.broker.wire import Wire
from tests.support.broker_process import COMMAND
from tests.support.logged_in import LoggedIn, log_in

PASSWORD = "one of many"


def user(*arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(COMMAND), "user", *arguments]
    return subprocess.run(command, input=said, capture_output=True, text=True, timeout=60, check=False)


def test_a_first_user_is_made_before_the_first_start(tmp_path: Path) -> None:
    """X6: it logs in on the broker that then starts; another is taken while it runs, and one goes."""
    data = ["--data", str(tmp_path / "data")]
    made = user("add", "first", *data, said=PASSWORD + "\n")
    assert made.returncode == 0, made.stderr
    place = LoggedIn(tmp_path)
    with place.process:
        with Wire(place.sasl) as wire:
            assert log_in(wire, "first", PASSWORD, "SCRAM-SHA-512").error_code == 0
        assert user("add", "second", "--mechanism", "SCRAM-SHA-256", *data, said=PASSWORD).returncode == 0
        assert user("remove", "first", *data).returncode == 0
        assert _until(place, "second", "SCRAM-SHA-256", 0)
        assert _until(place, "first", "SCRAM-SHA-512", 58)
        listed = [json.loads(line) for line in user("list", "--json", *data).stdout.splitlines()]
    assert "second" in str(listed)
    assert "first" not in str(listed)
    stored = b"".join(each.read_bytes() for each in (tmp_path / "data").rglob("*") if each.is_file())
    assert PASSWORD.encode() not in stored


def _until(place: LoggedIn, name: str, mechanism: str, code: int) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with Wire(place.sasl) as wire:
            if log_in(wire, name, PASSWORD, mechanism).error_code == code:
                return True
    return False


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    """X6: no place, two places, no password, a mechanism or a user that is not there; no traceback."""
    data = ["--data", str(tmp_path / "data")]
    for arguments, said in [
        (["add", "a"], "say where"),
        (["add", "a", *data, "--store", "x"], "say where"),
        (["add", "a", *data], "password"),
        (["list", "--data", str(tmp_path / "nowhere")], "not a directory"),
    ]:
        done = user(*arguments)
        assert done.returncode == 1
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert "there is no mechanism" in user("add", "a", "--mechanism", "PLAIN", *data, said="x").stderr
    assert user("add", "a", *data, said="x").returncode == 0
    assert "there is no user" in user("remove", "b", *data).stderr
    assert not (tmp_path / "nowhere").exists()
