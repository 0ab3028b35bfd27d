"""`holdfast consume` against a real broker."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests.cli.conftest import Commands
from tests.support.broker_process import BrokerProcess
from typer.testing import CliRunner

from holdfast.cli.main import app
from holdfast.testing import free_port


def values(commands: Commands, *arguments: str) -> list[str]:
    return [each["value"] for each in commands.json("consume", *arguments)]


@pytest.fixture
def ten(holdfast: Commands, topic: str) -> str:
    """A topic of one partition with the records 0 to 9, in batches of 3."""
    lines = b"".join(b"%d\n" % number for number in range(10))
    holdfast.run("produce", topic, "--batch-lines", "3", stdin=lines)
    return topic


def test_a_record_is_one_line_with_all_its_parts(holdfast: Commands, topic: str) -> None:
    """K2: time, place, key, value, headers."""
    holdfast.run("produce", topic, "--key-separator", ":", "--header", "h=1", stdin=b"k:v\n")
    done = holdfast.run("consume", topic, "--no-follow")
    time, *rest = done.stdout.removesuffix("\n").split("\t")
    assert time.endswith("Z")
    assert rest == [f"{topic}-0@0", "k", "v", "h=1"]
    assert done.stderr == "holdfast: 1 record\n"


def test_json_has_everything(holdfast: Commands, topic: str) -> None:
    holdfast.run("produce", topic, "--header", "h=1", stdin="größe\n".encode() + b"\xff\xfe")
    first, second = holdfast.json("consume", topic, "--no-follow")
    assert first.pop("timestamp") > 1_700_000_000_000
    assert first == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "key": None,
        "value": "größe",
        "headers": [["h", "1"]],
    }
    assert (second["offset"], second["value"]) == (1, {"base64": "//4="})


def test_what_a_terminal_would_act_upon_is_escaped(holdfast: Commands, topic: str) -> None:
    """K7: a record cannot write to the terminal what its reader did not ask for."""
    nasty = "\x1b]0;owned\x07\ttab \u202eright to left ü".encode()
    holdfast.run("produce", topic, stdin=nasty + b"\n\xff\x00\n")
    lines = holdfast.run("consume", topic, "--no-follow").stdout.splitlines()
    assert lines[0].split("\t")[3] == "\\x1b]0;owned\\x07\\ttab \\u202eright to left ü"
    assert lines[1].split("\t")[3] == "0xff00"


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("earliest", list(range(10))),
        ("latest", []),
        ("7", [7, 8, 9]),
        ("10", []),
        ("-4", [6, 7, 8, 9]),
        ("-100", list(range(10))),
        ("1h", list(range(10))),
        ("2020-01-31", list(range(10))),
        ("2100-01-31T12:00:00+01:00", []),
    ],
)
def test_where_to_begin(holdfast: Commands, ten: str, start: str, expected: list[int]) -> None:
    """K2: by offset, from the end, and by time."""
    assert values(holdfast, ten, "--from", start, "--no-follow") == [str(each) for each in expected]


def test_a_time_is_the_first_record_at_or_after_it(holdfast: Commands, ten: str) -> None:
    """K2: list offsets by timestamp."""
    holdfast.run("produce", ten, stdin=b"late\n")
    [late] = holdfast.json("consume", ten, "--from", "-1", "--no-follow")
    moment = datetime.fromtimestamp(late["timestamp"] / 1000, UTC)
    assert values(holdfast, ten, "--from", moment.isoformat(), "--no-follow") == ["late"]
    after = moment + timedelta(milliseconds=1)
    assert values(holdfast, ten, "--from", after.isoformat(), "--no-follow") == []


@pytest.mark.parametrize("start", ["sometime", "--5", "3x", "٣"])
def test_a_start_that_nobody_understands_is_one_sentence(holdfast: Commands, start: str) -> None:
    done = holdfast.run("consume", "any", "--from", start, code=1)
    assert done.stderr.startswith(f"holdfast: --from {start} is none of: earliest, latest, an offset")
    assert len(done.stderr.splitlines()) == 1


def test_an_offset_out_of_range_is_told_with_the_range(holdfast: Commands, ten: str) -> None:
    """L3: below the start and behind the end."""
    done = holdfast.run("consume", ten, "--from", "11", code=1)
    assert f"{ten}-0 has the offsets 0 to 10, and 11 is not among them" in done.stderr
    admin = AdminClient({"bootstrap.servers": holdfast.address})
    [deleted] = admin.delete_records([TopicPartition(ten, 0, 4)]).values()
    deleted.result(20)
    done = holdfast.run("consume", ten, "--from", "3", code=1)
    assert f"{ten}-0 has the offsets 4 to 10, and 3 is not among them" in done.stderr


def test_it_stops_after_so_many(holdfast: Commands, ten: str) -> None:
    assert values(holdfast, ten, "--from", "earliest", "--max", "4") == ["0", "1", "2", "3"]


def test_only_some_partitions(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    topic = make_topic("--partitions", "3")
    for partition in "012":
        holdfast.run("produce", topic, "--partition", partition, stdin=partition.encode())
    assert values(holdfast, topic, "--no-follow", "--partition", "2", "--partition", "0") == ["0", "2"]
    assert values(holdfast, topic, "--no-follow") == ["0", "1", "2"]
    refused = holdfast.run("consume", topic, "--partition", "3", code=1)
    assert f"topic {topic} has no partition 3: it has 3" in refused.stderr


def test_a_topic_that_is_not_there_is_not_made(holdfast: Commands) -> None:
    done = holdfast.run("consume", "no-such-topic", "--no-follow", code=1)
    assert done.stderr == "holdfast: topic no-such-topic: unknown topic or partition\n"
    assert "no-such-topic" not in holdfast.run("topic", "list").stdout


def test_it_follows_until_it_is_told_to_stop(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    """A1, L4: a record is printed when it is there, not when a buffer is full."""
    topic = make_topic()
    with holdfast.start("consume", topic, "--from", "earliest", "--json") as process:
        assert process.stdout is not None
        for number in range(3):
            holdfast.run("produce", topic, stdin=b"%d\n" % number)
            assert json.loads(process.stdout.readline())["value"] == str(number)
        process.send_signal(signal.SIGINT)
        _, talk = process.communicate()
    assert (process.returncode, talk) == (0, "holdfast: 3 records\n")


def interrupted(process: subprocess.Popen[str]) -> tuple[float, str]:
    """Ctrl-C: seconds until it has ended, and its talk."""
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        _, talk = process.communicate(timeout=20)
    finally:
        process.kill()
    return time.monotonic() - begun, talk


def test_ctrl_c_ends_a_wait_for_records(holdfast: Commands, ten: str) -> None:
    """While the broker is asked and has nothing to say."""
    with holdfast.start("consume", ten, "--from", "-1") as process:
        assert process.stdout is not None
        process.stdout.readline()
        seconds, talk = interrupted(process)
    assert (process.returncode, talk) == (0, "holdfast: 1 record\n")
    assert seconds < 10


def test_ctrl_c_ends_a_wait_for_a_broker_that_does_not_answer(own_broker: BrokerProcess, topic: str) -> None:
    """One that hangs would be waited for half a minute."""
    commands = Commands(own_broker.address)
    commands.run("produce", topic, stdin=b"one\n")
    with commands.start("consume", topic, "--from", "earliest") as process:
        assert process.stdout is not None
        process.stdout.readline()
        own_broker.signal(signal.SIGSTOP)
        seconds, talk = interrupted(process)
        own_broker.signal(signal.SIGCONT)
    assert (process.returncode, talk) == (0, "holdfast: 1 record\n")
    assert seconds < 10


def test_ctrl_c_ends_a_wait_for_a_broker_that_is_away(own_broker: BrokerProcess, topic: str) -> None:
    commands = Commands(own_broker.address)
    commands.run("produce", topic, stdin=b"one\n")
    with commands.start("consume", topic, "--from", "earliest") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        own_broker.kill()
        assert process.stderr.readline().endswith("; trying again for 30 s\n")
        seconds, talk = interrupted(process)
    assert (process.returncode, talk) == (0, "holdfast: 1 record\n")
    assert seconds < 10


def test_a_broker_behind_a_tunnel_is_read(tmp_path: Path, topic: str) -> None:
    """The broker that was named is asked; where it says that it is, nobody is."""
    elsewhere = f"127.0.0.1:{free_port()}"
    with BrokerProcess(tmp_path / "data", options=("--advertise", elsewhere)) as broker:
        commands = Commands(broker.address)
        commands.run("produce", topic, stdin=b"one\n")
        assert values(commands, topic, "--no-follow") == ["one"]
        [found] = commands.json("topic", "describe", topic)
        assert found["partitions"][0]["end"] == 1


def test_a_reader_that_goes_away_ends_it(holdfast: Commands, ten: str) -> None:
    """`| head` must not leave a traceback."""
    with holdfast.start("consume", ten, "--from", "earliest") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        holdfast.run("produce", ten, stdin=b"one more\n")
        assert process.wait() == -signal.SIGPIPE, "as of every program whose reader has gone"
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_broker_that_comes_back_is_followed_on(own_broker: BrokerProcess, topic: str) -> None:
    """A8: after kill -9 the reader goes on where it was."""
    commands = Commands(own_broker.address)
    commands.run("produce", topic, stdin=b"before\n")
    with commands.start("consume", topic, "--from", "earliest", "--max", "2", "--json") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["value"] == "before"
        own_broker.kill()
        own_broker.start()
        commands.run("produce", topic, stdin=b"after\n")
        assert json.loads(process.stdout.readline())["value"] == "after"
        assert process.wait() == 0


def test_records_that_retention_took_meanwhile_are_told(holdfast: Commands, topic: str) -> None:
    """K6: never silently skipped."""
    holdfast.run("produce", topic, stdin=b"seen\n")
    with holdfast.start("consume", topic, "--from", "earliest", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["value"] == "seen"
        process.send_signal(signal.SIGSTOP)
        holdfast.run("produce", topic, "--batch-lines", "1", stdin=b"gone\n" * 20 + b"kept\n")
        admin = AdminClient({"bootstrap.servers": holdfast.address})
        [deleted] = admin.delete_records([TopicPartition(topic, 0, 21)]).values()
        deleted.result(20)
        process.send_signal(signal.SIGCONT)
        assert process.stderr.readline().endswith(" to 20 are gone, going on at 21\n")
        got = json.loads(process.stdout.readline())
        while got["value"] == "gone":  # What was on its way already.
            got = json.loads(process.stdout.readline())
        assert (got["value"], got["offset"]) == ("kept", 21)
        process.kill()


def test_it_has_examples() -> None:
    assert "holdfast consume" in CliRunner().invoke(app, ["consume", "--help"]).stdout.split("Examples:")[1]
