"""The Containerfile and the systemd unit refer to commands, options, settings and files that exist."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.broker.wire import Wire, batch, create_topic, produce
from typer.main import get_command

from holdfast import config
from holdfast.cli.main import app
from holdfast.cli.subscribe.port import PORT_ABOVE
from holdfast.operate.doctor.machine import WARM
from holdfast.subscribe.settings import SubscribeSettings
from holdfast.testing import free_port

ROOT = Path(__file__).parents[2]
CONTAINER = (ROOT / "Containerfile").read_text()
SERVICE = (ROOT / "packaging" / "holdfast.service").read_text()


def container_command() -> list[str]:
    """What the container runs: ENTRYPOINT and CMD."""
    parts = [re.findall(rf"^{word} (\[.*\])$", CONTAINER, re.MULTILINE)[-1] for word in ("ENTRYPOINT", "CMD")]
    return [word for part in parts for word in json.loads(part)]


def service_command() -> list[str]:
    [line] = re.findall(r"^ExecStart=(.*)$", SERVICE, re.MULTILINE)
    return shlex.split(line)


@pytest.mark.parametrize("command", [container_command(), service_command()], ids=["container", "service"])
def test_the_command_and_its_options_exist(command: list[str]) -> None:
    assert Path(command[0]).name == "holdfast"
    serve = get_command(app).commands[command[1]]  # type: ignore[attr-defined]
    context = serve.make_context("serve", command[2:])
    assert context.params["data"] == "/var/lib/holdfast"


@pytest.mark.parametrize("text", [CONTAINER, SERVICE], ids=["container", "service"])
def test_the_settings_that_are_named_exist(text: str) -> None:
    known = {config.variable_of(name) for name in config.known()} | {"HOLDFAST_NAME"}  # Stands for any of them.
    assert set(re.findall(r"HOLDFAST_[A-Z_]+", text)) <= known


def test_what_the_container_copies_and_runs_exists() -> None:
    first = CONTAINER.split("\nFROM ")[1]
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", first, re.MULTILINE):
        assert all((ROOT / each).exists() for each in line.split())
    for file in re.findall(r"-r (\S+)", first):
        assert (ROOT / file).is_file()


def test_the_ports_that_are_open_are_those_that_are_listened_on() -> None:
    exposed = [int(port) for port in re.findall(r"^EXPOSE (.*)$", CONTAINER, re.MULTILINE)[0].split()]
    [kafka] = (int(word[8:]) for word in container_command() if word.startswith("0.0.0.0:"))
    assert SubscribeSettings().listen == "auto"
    assert exposed == [kafka, kafka + PORT_ABOVE]


def test_what_the_container_runs_serves_with_the_variable_that_is_named_and_not_without(tmp_path: Path) -> None:
    """On other ports, and in a folder of the test's own."""
    port = free_port()
    places = {"/var/lib/holdfast": str(tmp_path), "0.0.0.0:9092": f"0.0.0.0:{port}", "127.0.0.1:9095": "127.0.0.1:0"}
    command = [sys.executable, "-m", "holdfast", *(places.get(word, word) for word in container_command()[1:])]
    own = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    done = subprocess.run(command, env=own, capture_output=True, text=True)
    assert (done.returncode, "--advertise" in done.stderr) == (1, True)
    told = re.findall(r"-e HOLDFAST_SERVE_ADVERTISE=(\S+):9092", CONTAINER)
    given = {"HOLDFAST_SERVE_ADVERTISE": f"{told[0]}:{port}"}
    with subprocess.Popen(command, env={**own, **given}, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            assert any("Kafka clients at" in line for line in server.stderr)
            with Wire(port) as wire:
                create_topic(wire, "t")
                assert produce(wire, "t", batch(b"x")).error_code == 0
        finally:
            server.kill()


def test_the_container_has_machine_code_or_is_not_made() -> None:
    """The larger image has a compiler; without the hook that calls it the wheel would be pure Python."""
    check = "from holdfast.native import kernels; exit(kernels is None)"
    assert f"python -c '{check}'" in CONTAINER
    assert "hatch_build.py" in CONTAINER
    assert check in (ROOT / "Makefile").read_text()


def test_without_a_compiler_numba_compiles_everything_at_installation() -> None:
    """The same modules as the doctor advises."""
    assert re.findall(r"-m (holdfast\.\w+\.warm)", (ROOT / "Makefile").read_text()) == list(WARM)
