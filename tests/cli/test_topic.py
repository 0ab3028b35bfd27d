"""`holdfast topic` against a real broker."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import pytest
from tests.cli.conftest import Commands
from typer.testing import CliRunner

from holdfast.cli.main import app
from holdfast.testing import free_port


def test_a_topic_is_made_listed_and_described(holdfast: Commands, topic: str) -> None:
    """K2: partitions and configs as asked for."""
    made = holdfast.run("topic", "create", topic, "--partitions", "3", "--config", "retention.ms=60000").stdout
    assert made.startswith(f"topic {topic} made: 3 partitions, id ")
    topic_id = made.split()[-1]
    assert {"topic": topic, "partitions": 3, "topic_id": topic_id} in holdfast.json("topic", "list")
    [found] = holdfast.json("topic", "describe", topic)
    assert found["configs"] == {"retention.ms": "60000"}
    assert [each["partition"] for each in found["partitions"]] == [0, 1, 2]
    assert topic in holdfast.run("topic", "list").stdout


def test_described_offsets_are_those_of_the_records(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    """K2: where each partition begins and ends."""
    topic = make_topic("--partitions", "2")
    holdfast.run("produce", topic, "--partition", "1", stdin=b"one\ntwo\n")
    [found] = holdfast.json("topic", "describe", topic)
    assert [(each["start"], each["end"], each["offsets"]) for each in found["partitions"]] == [(0, 0, 0), (0, 2, 2)]
    table = holdfast.run("topic", "describe", topic).stdout.splitlines()
    assert table[1].split() == ["partition", "start", "end", "offsets", "leader", "epoch"]
    assert table[3].split()[:4] == ["1", "0", "2", "2"]


def test_without_a_count_the_broker_chooses(holdfast: Commands, topic: str) -> None:
    [made] = holdfast.json("topic", "create", topic)
    assert made["partitions"] == 1


def test_internal_topics_are_listed_only_when_asked_for(holdfast: Commands) -> None:
    names = [{each["topic"] for each in holdfast.json("topic", "list", *more)} for more in ([], ["--all"])]
    assert "__consumer_offsets" not in names[0]
    assert "__consumer_offsets" in names[1]


def test_configs_are_changed_and_go_back_to_their_default(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    """K2: topic configs."""
    topic = make_topic("--config", "retention.ms=1000")
    change = ("--config", "max.message.bytes=2000", "--config", "cleanup.policy=compact", "--unset", "retention.ms")
    after = {each["config"]: each["value"] for each in holdfast.json("topic", "config", topic, *change)}
    assert after == {"max.message.bytes": "2000", "cleanup.policy": "compact"}
    everything = {each["config"]: each for each in holdfast.json("topic", "config", topic, "--all")}
    assert everything["retention.ms"]["value"] == "604800000"
    assert not everything["retention.ms"]["own"]
    assert everything["max.message.bytes"]["own"]


def test_a_topic_gets_more_partitions_but_never_fewer(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    topic = make_topic("--partitions", "2")
    holdfast.run("topic", "config", topic, "--partitions", "5")
    assert {"topic": topic, "partitions": 5} in [
        {"topic": each["topic"], "partitions": each["partitions"]} for each in holdfast.json("topic", "list")
    ]
    refused = holdfast.run("topic", "config", topic, "--partitions", "4", code=1)
    assert refused.stderr == f"holdfast: 4 partitions: {topic} has 5 already\n"


def test_a_topic_is_deleted_only_when_somebody_says_yes(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    asked = holdfast.run("topic", "delete", topic, code=1)
    assert asked.stderr == (
        f"holdfast: Delete {topic} with all records? Say so with --yes: there is no terminal to ask at\n"
    )
    assert holdfast.run("topic", "delete", topic, "--yes").stdout == f"topic {topic} deleted\n"
    assert topic not in {each["topic"] for each in holdfast.json("topic", "list")}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["describe", "nowhere"], "topic nowhere: unknown topic or partition"),
        (["delete", "nowhere", "--yes"], "topic nowhere: there is no such topic"),
        (["create", "no/name"], "'no/name' is no name for a topic"),
        (["create", "fine", "--config", "retention.ms=soon"], "config retention.ms: 'soon' is not a whole number"),
        (["create", "fine", "--config", "retention"], "--config retention must be --config name=value"),
    ],
)
def test_a_refusal_is_one_sentence(holdfast: Commands, arguments: list[str], sentence: str) -> None:
    done = holdfast.run("topic", *arguments, code=1)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr


def test_a_topic_that_exists_is_not_made_again(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    assert holdfast.run("topic", "create", topic, code=1).stderr == f"holdfast: topic {topic} is there already\n"


def test_without_a_broker_the_address_and_what_to_do_are_said() -> None:
    address = f"127.0.0.1:{free_port()}"
    done = CliRunner().invoke(app, ["topic", "list", "--bootstrap", address])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        f"holdfast: no broker answers at {address} (connection refused): start one with `holdfast serve`, "
        "or say with --bootstrap where it is\n"
    )


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is no Kafka broker"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x01\x00\x00", "is no Kafka broker"),
        (b"", "closed the connection at once"),
    ],
)
def test_whoever_else_listens_there_is_not_taken_for_a_broker(answer: bytes, sentence: str) -> None:
    """K7: the client's side of it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        done = CliRunner().invoke(app, ["topic", "list", "--bootstrap", address])
        thread.join()
    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 1
    assert address in done.stderr
    assert sentence in done.stderr


@pytest.mark.parametrize("command", ["list", "describe", "create", "delete", "config"])
def test_every_command_has_an_example(command: str) -> None:
    shown = CliRunner().invoke(app, ["topic", command, "--help"]).stdout
    assert f"holdfast topic {command}" in shown.split("Examples:")[1]
