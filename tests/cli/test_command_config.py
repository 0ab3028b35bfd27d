"""`--command-config` on every command that talks to a broker, and no secret on the way."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tests.support.broker_process import COMMAND
from tests.support.every_way import MARK, WAYS, EveryWay
from typer.main import get_command

from holdfast.cli.main import app
from holdfast.client.errors import Refused
from holdfast.testing import free_port


@pytest.fixture(scope="module")
def metrics() -> int:
    """The port, chosen when it is used: one that was free at the beginning of a long run may be taken by now."""
    return free_port()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, metrics: int) -> Iterator[EveryWay]:
    made = EveryWay(
        tmp_path_factory.mktemp("commands"),
        f"serve.metrics_listen=127.0.0.1:{metrics}",
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users=User:ANONYMOUS;User:alice;User:CN=Reader,O=Tests",
    )
    with made.running():
        yield made


def holdfast(*arguments: str, said: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([COMMAND, *arguments], input=said, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    assert MARK not in done.stdout + done.stderr
    return done


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(group, "commands"):
        yield path, group
        return
    for name, each in group.commands.items():
        yield from _commands(each, (*path, name))


def test_every_command_that_talks_to_a_broker_takes_it() -> None:
    """X11: whoever has --bootstrap has --command-config."""
    found = 0
    for path, command in _commands(get_command(app)):
        options = {option for each in command.params for option in each.opts}
        if "--bootstrap" in options or "--address" in options:
            assert "--command-config" in options, path
            found += 1
    assert found > 15


@pytest.mark.parametrize("way", WAYS)
def test_records_go_in_and_out(place: EveryWay, way: str) -> None:
    """X11: produce, consume, topics and groups in each way; the file's address is taken."""
    topic = way.replace(" ", "-")
    config = ["--command-config", str(place.file(way))]
    holdfast("topic", "create", topic, "--partitions", "2", *config)
    holdfast("produce", topic, *config, said="one\ntwo\n")
    read = holdfast("consume", topic, "--no-follow", "--json", *config).stdout
    assert sorted(json.loads(line)["value"] for line in read.splitlines()) == ["one", "two"]
    assert topic in holdfast("topic", "list", *config).stdout
    assert "retention.ms" in holdfast("topic", "config", topic, "--config", "retention.ms=1000000", *config).stdout
    holdfast("group", "list", *config)
    holdfast("topic", "delete", topic, "--yes", *config)


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["one sentence", "debug"])
def test_a_wrong_password_is_told_and_not_shown(place: EveryWay, debug: list[str]) -> None:
    """X11: in one sentence that says what to do, at once; also where a traceback is asked for."""
    config = place.file("SASL_SSL SCRAM-SHA-512", "wrong.properties", password=MARK + "wrong")
    began = time.monotonic()
    told = holdfast(*debug, "topic", "list", "--command-config", str(config), code=1).stderr
    assert time.monotonic() - began < 40  # Mostly the start of Python, on a busy machine.
    assert "correct sasl.jaas.config" in told
    assert len(told.splitlines()) == 1 or debug


def test_the_process_list_shows_the_file_only(place: EveryWay) -> None:
    """X11: arguments are everybody's to read."""
    config = str(place.file("SASL_SSL PLAIN", "listed.properties"))
    holdfast("topic", "create", "listed", "--command-config", config)
    process = subprocess.Popen(
        [COMMAND, "consume", "listed", "--command-config", config], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        holdfast("produce", "listed", "--command-config", config, said="x\n")
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    finally:
        process.terminate()
        said = b"".join(process.communicate(timeout=20))
    assert config.encode() in shown
    assert MARK.encode() not in shown + said


def test_users_are_made_through_a_broker(place: EveryWay) -> None:
    """X6, X11: with the password from stdin; it counts at once; the broker is told no password."""
    config = ["--command-config", str(place.file("SASL_SSL SCRAM-SHA-256", "admin.properties"))]
    assert "user dora logs in" in holdfast("user", "add", "dora", *config, said=f"{MARK}dora\n").stderr
    listed = [json.loads(line) for line in holdfast("user", "list", "--json", *config).stdout.splitlines()]
    assert {"user": "dora", "mechanism": "SCRAM-SHA-512", "iterations": 4096} in listed
    with (
        place.client("SASL_SSL SCRAM-SHA-512", user="dora", password=f"{MARK}dora") as client,
        pytest.raises(Refused, match="TOPIC hers"),
    ):
        client.create_topics({"hers": 1})
    assert "dora is removed" in holdfast("user", "remove", "dora", *config).stderr
    assert "there is no user dora" in holdfast("user", "remove", "dora", *config, code=1).stderr
    wrong = holdfast("user", "add", "dora", "--mechanism", "PLAIN", *config, said="x\n", code=1)
    assert "there is no mechanism PLAIN" in wrong.stderr
    assert "say where" in holdfast("user", "list", "--data", "x", *config, code=1).stderr


def test_no_secret_is_left_anywhere(place: EveryWay, metrics: int) -> None:
    """X11: neither in what the broker keeps, nor in what it says and tells of itself, after all of the above."""
    told = urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=20).read()
    assert b"holdfast_info" in told
    kept = told + b"".join(each.read_bytes() for each in (place.folder / "data").rglob("*") if each.is_file())
    for secret in place.secrets():
        assert secret.encode() not in kept
        assert secret not in "\n".join(place.process.said)
