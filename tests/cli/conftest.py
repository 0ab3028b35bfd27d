"""A real broker for the commands that talk to one, and a way to run them."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import Result
from tests.support.broker_process import COMMAND, BrokerProcess
from typer.testing import CliRunner

from holdfast.cli.main import app

_numbers = itertools.count()


class Commands(NamedTuple):
    """The commands, against one broker."""

    address: str

    def run(self, *arguments: str, stdin: bytes = b"", code: int = 0) -> Result:
        """Run a command in this process, where all but the first start is fast."""
        done = CliRunner().invoke(app, [*arguments, "--bootstrap", self.address], input=stdin)
        assert done.exit_code == code, f"{done.exit_code}: {done.output}\n{done.exception}"
        return done

    def json(self, *arguments: str) -> list[Any]:
        """The objects that a command prints."""
        return [json.loads(line) for line in self.run(*arguments, "--json").stdout.splitlines()]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run a command as a shell would, and go on."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        pipe = subprocess.PIPE
        command = [COMMAND, *arguments, "--bootstrap", self.address]
        return subprocess.Popen(command, env=clean, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that all tests of commands share."""
    settings = ["group.initial.rebalance.delay.ms=0"]
    with BrokerProcess(tmp_path_factory.mktemp("cli-broker"), settings=settings) as process:
        yield process


@pytest.fixture
def holdfast(broker: BrokerProcess) -> Commands:
    return Commands(broker.address)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker of the test's own, to be killed and started again."""
    with BrokerProcess(tmp_path / "data") as process:
        yield process


@pytest.fixture
def topic() -> str:
    """The name of a topic that no other test uses."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def make_topic(holdfast: Commands, topic: str) -> Callable[..., str]:
    """Makes the test's topic."""

    def make(*options: str) -> str:
        holdfast.run("topic", "create", topic, *options)
        return topic

    return make
