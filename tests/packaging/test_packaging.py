"""The Containerfile and the systemd unit refer to commands, options, settings and files that exist."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from holdfast import config
from holdfast.cli.main import app
from holdfast.cli.subscribe.port import PORT_ABOVE
from holdfast.operate.doctor.machine import WARM
from holdfast.subscribe.settings import SubscribeSettings

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
    modules = re.findall(r"python -m (holdfast\S+)", first)
    assert modules
    assert all(importlib.util.find_spec(each) for each in modules)


def test_the_ports_that_are_open_are_those_that_are_listened_on() -> None:
    exposed = [int(port) for port in re.findall(r"^EXPOSE (.*)$", CONTAINER, re.MULTILINE)[0].split()]
    kafka, metrics = (int(word[8:]) for word in container_command() if word.startswith("0.0.0.0:"))
    assert SubscribeSettings().listen == "auto"
    assert exposed == [kafka, kafka + PORT_ABOVE, metrics]


def test_the_container_brings_what_compiles_at_installation_everywhere() -> None:
    """The same modules as `make install`, and as the doctor advises."""
    warm = r"-m (holdfast\.\w+\.warm)"
    assert re.findall(warm, CONTAINER) == re.findall(warm, (ROOT / "Makefile").read_text()) == list(WARM)
