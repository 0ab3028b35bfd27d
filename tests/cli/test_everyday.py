"""Everyday commands against a real broker: what is read, what is printed, in which form, and what a shell completes."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.conftest import Commands
from tests.support.broker_process import COMMAND, BrokerProcess
from typer.testing import CliRunner

from holdfast.catalog import open_catalog, read_topic
from holdfast.cli.commands import COMMANDS
from holdfast.cli.main import app

ORDERS = [
    {"customer": {"id": 7}, "items": [{"name": "tea"}]},
    {"customer": {"id": 8}, "items": []},
    {"customer": "nobody"},
]


@pytest.fixture
def orders(holdfast: Commands, topic: str) -> str:
    lines = "".join(f"k{number}|{json.dumps(each)}\n" for number, each in enumerate(ORDERS))
    holdfast.run("produce", topic, "--key-separator", "|", stdin=lines.encode())
    return topic


@pytest.fixture
def ten(holdfast: Commands, topic: str) -> str:
    holdfast.run("produce", topic, "--batch-lines", "3", stdin=b"".join(b"%d\n" % number for number in range(10)))
    return topic


def lines(commands: Commands, *arguments: str) -> list[str]:
    return commands.run("consume", *arguments).stdout.splitlines()


def test_only_values_only_keys_or_both_as_they_are(holdfast: Commands, orders: str) -> None:
    values = [json.dumps(each) for each in ORDERS]
    assert lines(holdfast, orders, "--no-follow", "--values") == values
    assert lines(holdfast, orders, "--no-follow", "--keys") == ["k0", "k1", "k2"]
    both = lines(holdfast, orders, "--no-follow", "--keys", "--values")
    assert both == [f"k{number}\t{each}" for number, each in enumerate(values)]


def test_a_path_prints_what_stands_there_and_leaves_the_others_out(holdfast: Commands, orders: str) -> None:
    done = holdfast.run("consume", orders, "--no-follow", "--json-path", "customer.id")
    assert done.stdout.split() == ["7", "8"]
    assert done.stderr == "holdfast: 2 records\n"
    assert lines(holdfast, orders, "--no-follow", "--json-path", "$.items[0].name") == ["tea"]


@pytest.mark.parametrize("wrong", [["--json-path", "a]["], ["--json-path", "a", "--keys"], ["--json", "--values"]])
def test_what_does_not_go_together_is_one_sentence(holdfast: Commands, topic: str, wrong: list[str]) -> None:
    done = holdfast.run("consume", topic, *wrong, code=1)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_until_stops_before_an_offset_or_a_time(holdfast: Commands, ten: str) -> None:
    assert lines(holdfast, ten, "--until", "4", "--values") == ["0", "1", "2", "3"]
    assert lines(holdfast, ten, "--from", "2", "--until", "4", "--values") == ["2", "3"]
    assert lines(holdfast, ten, "--until", "latest", "--values") == [str(each) for each in range(10)]
    assert lines(holdfast, ten, "--until", "1h", "--values") == []


def test_a_group_goes_on_where_it_stands(holdfast: Commands, ten: str) -> None:
    """What was printed is committed, and nothing else."""
    group = f"group-of-{ten}"
    first = lines(holdfast, ten, "--group", group, "--from", "earliest", "--max", "4", "--values")
    assert first == ["0", "1", "2", "3"]
    [row] = holdfast.json("group", "offsets", group)
    assert (row["committed"], row["lag"]) == (4, 6)
    assert lines(holdfast, ten, "--group", group, "--no-follow", "--values") == ["4", "5", "6", "7", "8", "9"]
    assert lines(holdfast, ten, "--group", group, "--no-follow", "--values") == []
    holdfast.run("produce", ten, stdin=b"ten\n")
    assert lines(holdfast, ten, "--group", group, "--no-follow", "--values") == ["ten"]


def test_a_text_can_stand_for_null(holdfast: Commands, topic: str) -> None:
    holdfast.run("produce", topic, "--key-separator", ":", "--null", "NULL", stdin=b"a:NULL\nNULL:b\n")
    assert [(each["key"], each["value"]) for each in holdfast.json("consume", topic, "--no-follow")] == [
        ("a", None),
        (None, "b"),
    ]


def test_a_topic_is_altered_and_nothing_to_change_is_said(holdfast: Commands, ten: str) -> None:
    [row] = holdfast.json("topic", "alter", ten, "--config", "retention.ms=60000")
    assert (row["config"], row["value"]) == ("retention.ms", "60000")
    assert "nothing to change" in holdfast.run("topic", "alter", ten, code=1).stderr


def test_a_flush_puts_everything_into_the_store(own_broker: BrokerProcess) -> None:
    """A reader of the store sees all that was acknowledged, at once; nothing of it becomes a config."""
    commands = Commands(own_broker.address)
    commands.run("produce", "orders", stdin=b"one\ntwo\n")
    assert stored(own_broker) == 0
    commands.run("flush", "orders")
    assert stored(own_broker) == 2
    assert commands.json("topic", "config", "orders") == []
    refused = commands.run("topic", "alter", "orders", "--config", "holdfast.flush=later", code=1)
    assert "it is an order" in refused.stderr


def stored(broker: BrokerProcess) -> int:
    """Records that a reader of the store sees."""
    return sum(each.num_rows for each in read_topic(open_catalog(str(broker.data)), "orders"))


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_facts_come_in_three_forms(holdfast: Commands, ten: str, form: str) -> None:
    shown = holdfast.run("topic", "list", "--output", form).stdout
    if form == "json":
        found = [json.loads(line)["topic"] for line in shown.splitlines()]
    elif form == "csv":
        found = [row["topic"] for row in csv.DictReader(io.StringIO(shown))]
    else:
        found = [line.split()[0] for line in shown.splitlines()[1:]]
    assert ten in found


def test_records_as_csv_have_a_header_once_and_json_in_cells(holdfast: Commands, orders: str) -> None:
    rows = list(csv.DictReader(io.StringIO(holdfast.run("consume", orders, "--no-follow", "--output", "csv").stdout)))
    assert [json.loads(row["value"]) for row in rows] == ORDERS
    assert {row["headers"] for row in rows} == {"[]"}
    assert "which of them" in holdfast.run("consume", orders, "--json", "--output", "csv", code=1).stderr


def test_every_command_that_has_json_has_output() -> None:
    for name in COMMANDS:
        shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).stdout
        assert ("--json " in shown and name != "produce") == ("--output " in shown), name


@pytest.mark.parametrize(
    ("words", "kind"),
    [("holdfast consume {}", "topic"), ("holdfast topic describe {}", "topic"), ("holdfast group offsets {}", "group")],
)
def test_a_shell_completes_names(holdfast: Commands, ten: str, words: str, kind: str) -> None:
    group = f"group-of-{ten}"
    lines(holdfast, ten, "--group", group, "--no-follow", "--values")
    name = ten if kind == "topic" else group
    assert complete(words.format(name[:-1]), holdfast.address) >= {name}


def test_completion_says_nothing_when_no_broker_answers() -> None:
    assert complete("holdfast consume t", "127.0.0.1:1") == set()


def complete(words: str, address: str) -> set[str]:
    asked = {"_HOLDFAST_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [COMMAND], env=os.environ | asked | {"HOLDFAST_BOOTSTRAP": address}, capture_output=True, text=True
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_subscribing_at_the_kafka_port_is_told_in_a_sentence(holdfast: Commands, broker: BrokerProcess) -> None:
    """Both sides say what is wrong, and the command ends."""
    began = time.monotonic()
    done = subprocess.run(
        [COMMAND, "subscribe", "orders", "--since", "1h", "--address", holdfast.address],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert f"{holdfast.address} is a port for Kafka clients" in done.stderr.splitlines()[-1]
    assert time.monotonic() - began < 30
    assert any("that is HTTP/2, as subscribers speak it" in line for line in broker.said)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (["--data="], "--data sets serve wrongly: data_path must name a directory"),
        (["--data", "s3://bucket/x"], "a bucket is named by --store"),
        (["--store", "s3//bucket"], "s3//bucket names no object store"),
        (["--store", "S3:/bucket"], "S3:/bucket names no object store"),
        (["--log-level", "loud"], "--log-level sets serve wrongly: log_level must be debug"),
        (["--set", "log.flush_age_ms_max=-5m"], "to '-5m', but it must be 0 or more"),
    ],
    ids=lambda each: each if isinstance(each, str) else None,
)
def test_what_is_a_typo_is_one_sentence_and_makes_nothing(tmp_path: Path, wrong: list[str], sentence: str) -> None:
    """Neither a directory of that name nor a broker that does something else."""
    given = [*wrong, "--listen", "127.0.0.1:0"]
    given += [] if "--data" in wrong[0] else ["--data", str(tmp_path / "d")]
    done = subprocess.run([COMMAND, "serve", *given], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert sentence in done.stderr
    assert {each.name for each in tmp_path.iterdir()} <= {"d"}


@pytest.mark.parametrize("command", [["audit", "--path"], ["log", "stat"], ["backup"]], ids=lambda each: each[0])
def test_a_store_that_is_a_typo_is_none_for_readers_too(tmp_path: Path, command: list[str]) -> None:
    more = [str(tmp_path / "copy")] if command == ["backup"] else []
    done = subprocess.run([COMMAND, *command, "s3:/bucket", *more], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "s3:/bucket names no object store" in done.stderr
    assert list(tmp_path.iterdir()) == []
