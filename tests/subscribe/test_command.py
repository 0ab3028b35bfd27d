"""`holdfast subscribe` against a real broker process, and the port in `holdfast serve`."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.ports import ports_of

from holdfast.testing import free_port


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerProcess, str]]:
    address = f"127.0.0.1:{free_port()}"
    data = tmp_path_factory.mktemp("subscribe")
    with BrokerProcess(data, settings=[f"subscribe.listen={address}"]) as process:
        yield process, address


def holdfast(*words: str, given: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([COMMAND, *words], input=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done


def test_the_whole_way_on_the_command_line(broker: tuple[BrokerProcess, str]) -> None:
    """S1, S6, S9: topics merged, filtered, as lines and as JSON, with progress, and on from a cursor."""
    process, address = broker
    for name in ("one", "two"):
        lines = "".join(f"/{name}/{number}\tvalue-{number}\n" for number in range(5))
        holdfast("produce", name, "--bootstrap", process.address, "--key-separator", "\t", given=lines)
    asked = ["subscribe", "one", "two", "--address", address, "--since", "earliest"]
    whole = holdfast(*asked, "--json")
    events = [json.loads(line) for line in whole.stdout.splitlines()]
    assert len(events) == 10
    assert [event["timestamp"] for event in events] == sorted(event["timestamp"] for event in events)
    assert {event["topic"] for event in events} == {"one", "two"}
    assert set(events[0]) == {"source", "topic", "partition", "offset", "timestamp", "key", "value", "headers", "late"}
    assert "10 events, 0 late" in whole.stderr
    filtered = holdfast(*asked, "--filter", "/one/3", "--directory", "/two")
    assert [line.split("\t")[2] for line in filtered.stdout.splitlines()] == [
        "/one/3",
        *(f"/two/{n}" for n in range(5)),
    ]
    some = holdfast(*asked, "--json", "--max", "4", "--progress", "json")
    found = re.search(r"--cursor (\S+)", some.stderr)
    assert found
    rest = holdfast("subscribe", "one", "two", "--address", address, "--cursor", found[1], "--json")
    assert some.stdout + rest.stdout == whole.stdout


def test_what_goes_wrong_is_one_sentence(broker: tuple[BrokerProcess, str]) -> None:
    """S1: a topic that is not there, a time that is none, a cursor that is none."""
    _, address = broker
    ask = ["subscribe", "one", "--address", address]
    for words, told in (
        (["subscribe", "nothing", "--address", address], "nothing names no topic"),
        ([*ask, "--since", "soon"], "--since soon"),
        ([*ask, "--cursor", "xyz"], "cursor"),
        ([*ask, "--filter", "xyz"], "is no filter"),
    ):
        done = holdfast(*words, code=1)
        *before, sentence = done.stderr.splitlines()
        assert told in sentence
        assert (done.stdout, before) in (("", []), ("", ["holdfast: 0 events, 0 late"]))


def test_a_port_that_is_taken_is_said(broker: tuple[BrokerProcess, str], tmp_path: Path) -> None:
    """S1: a subscription port that was asked for by its number and is taken refuses the start."""
    _, address = broker
    words = ["serve", "--data", str(tmp_path), "--listen", "127.0.0.1:0", "--set", f"subscribe.listen={address}"]
    assert f"cannot listen on {address}" in holdfast(*words, code=1).stderr


def test_without_the_port(tmp_path: Path) -> None:
    """S1: `none` opens no port, and loads nothing of gRPC."""
    with BrokerProcess(tmp_path, settings=["subscribe.listen=none"]) as process:
        assert "cygrpc" not in Path(f"/proc/{process.pid}/maps").read_text()
        assert ports_of(process.pid) == {process.port}
