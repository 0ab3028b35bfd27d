"""`holdfast produce` against a real broker; what was written is read by other clients."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from kafka.partitioner.default import murmur2 as murmur2_of_another
from tests.cli.conftest import Commands
from tests.support.broker_process import BrokerProcess
from typer.testing import CliRunner

from holdfast.cli.main import app
from holdfast.cli.produce.lines import read_lines, split_lines
from holdfast.client.partitioner import murmur2
from holdfast.errors import Rejected


def read(address: str, topic: str, count: int, partitions: int = 1) -> list[Message]:
    """The first records of a topic, as librdkafka reads them."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, each, 0) for each in range(partitions)])
    found: list[Message] = []
    while len(found) < count:
        messages = consumer.consume(count - len(found), 20)
        assert messages, f"only {len(found)} records came"
        found += messages
    consumer.close()
    assert all(each.error() is None for each in found)
    return found


def test_every_line_is_a_record(holdfast: Commands, topic: str) -> None:
    """A1: the exit code says that all are there; bytes are kept as they are, the last line may lack its end."""
    done = holdfast.run("produce", topic, stdin=b"one\n\n\xff\x00\nlast")
    assert (done.stdout, done.stderr) == ("", "holdfast: 4 records acknowledged\n")
    found = read(holdfast.address, topic, 4)
    assert [(each.key(), each.value()) for each in found] == [
        (None, b"one"),
        (None, b""),
        (None, b"\xff\x00"),
        (None, b"last"),
    ]


def test_keys_and_headers(holdfast: Commands, topic: str) -> None:
    """K2: headers, in order and repeated; what follows the first separator is the value."""
    options = ["--key-separator", "\\t", "--header", "a=1", "--header", "a=x=y"]
    holdfast.run("produce", topic, *options, stdin=b"k\tv\tw\n")
    [found] = read(holdfast.address, topic, 1)
    assert (found.key(), found.value()) == (b"k", b"v\tw")
    assert found.headers() == [("a", b"1"), ("a", b"x=y")]


def test_a_line_without_a_key_is_refused(holdfast: Commands, topic: str) -> None:
    done = holdfast.run("produce", topic, "--key-separator", ":", stdin=b"a:1\nb\n", code=1)
    assert done.stderr.splitlines() == [
        "holdfast: 0 records acknowledged, 2 not",
        "holdfast: line 2 has no ':' between key and value: it is not sent",
    ]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_by_others(holdfast: Commands, topic: str, codec: str) -> None:
    """K2: all compression codecs."""
    holdfast.run("produce", topic, "--codec", codec, stdin=b"squeeze me\n" * 100)
    assert [each.value() for each in read(holdfast.address, topic, 100)] == [b"squeeze me"] * 100


def test_batches_are_told_where_they_are(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    topic = make_topic("--partitions", "2")
    options = ["--partition", "1", "--batch-lines", "2", "--verbose"]
    done = holdfast.run("produce", topic, *options, stdin=b"a\nb\nc\n")
    assert done.stdout.splitlines() == [f"{topic}-1@0", f"{topic}-1@2"]


def test_batches_without_keys_take_turns(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    topic = make_topic("--partitions", "2")
    done = holdfast.run("produce", topic, "--batch-lines", "1", "-v", stdin=b"a\nb\nc\n")
    assert done.stdout.splitlines() == [f"{topic}-0@0", f"{topic}-1@0", f"{topic}-0@1"]


def test_a_key_goes_where_other_producers_put_it(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    """K1: the same key, the same partition, whoever writes it."""
    topic = make_topic("--partitions", "5")
    keys = [b"key-%d" % number for number in range(40)]
    holdfast.run("produce", topic, "--key-separator", ":", stdin=b"".join(key + b":v\n" for key in keys))
    places = {each.key(): each.partition() for each in read(holdfast.address, topic, 40, partitions=5)}
    assert places == {key: (murmur2_of_another(key) & 0x7FFFFFFF) % 5 for key in keys}
    for size in range(9):
        assert murmur2(bytes(range(250, 250 - size, -1))) == murmur2_of_another(bytes(range(250, 250 - size, -1)))


def test_what_the_broker_refuses_is_said_and_counted(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    topic = make_topic("--config", "max.message.bytes=500")
    options = ["--batch-lines", "1", "-v"]
    done = holdfast.run("produce", topic, *options, stdin=b"small\n" + b"large" * 200 + b"\nnever\n", code=1)
    assert done.stdout == f"{topic}-0@0\n"
    talk = done.stderr.splitlines()
    assert talk[0] == "holdfast: 1 record acknowledged, 1 not"  # The third line was not even taken.
    assert f"{topic}-0" in talk[1]
    assert len(talk) == 2


def test_a_partition_that_is_not_there_is_refused(holdfast: Commands, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    done = holdfast.run("produce", topic, "--partition", "3", stdin=b"a\n", code=1)
    assert f"topic {topic} has no partition 3: it has 1" in done.stderr


def test_lines_go_out_when_no_more_come(holdfast: Commands, topic: str) -> None:
    """The writer of the lines need not end: 50 ms of quiet are enough."""
    with holdfast.start("produce", topic, "--verbose") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(2):
            process.stdin.write(f"{number}\n")
            process.stdin.flush()
            assert process.stdout.readline() == f"{topic}-0@{number}\n"
        process.stdin.close()
        assert process.wait() == 0


def test_a_broker_killed_meanwhile_is_waited_for(own_broker: BrokerProcess, topic: str) -> None:
    """A8, K4: what was acknowledged is there, and what was sent twice is there once."""
    commands = Commands(own_broker.address)
    with commands.start("produce", topic, "--verbose", "--batch-lines", "1") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("before\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{topic}-0@0\n"
        own_broker.kill()
        process.stdin.write("after\nlast\n")
        process.stdin.close()
        assert "trying again" in process.stderr.readline()
        own_broker.start()
        assert [process.stdout.readline() for _ in range(2)] == [f"{topic}-0@1\n", f"{topic}-0@2\n"]
        assert process.wait() == 0
    assert [each.value() for each in read(own_broker.address, topic, 3)] == [b"before", b"after", b"last"]


def test_ctrl_c_ends_it_when_all_is_acknowledged(holdfast: Commands, topic: str) -> None:
    """At a terminal this is the way to end it; nobody can end the read of the terminal itself."""
    with holdfast.start("produce", topic, "--verbose") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("one\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{topic}-0@0\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
        assert process.stderr.read() == "holdfast: 1 record acknowledged\n"


def test_ctrl_c_ends_it_when_the_broker_does_not_answer(own_broker: BrokerProcess, topic: str) -> None:
    """A1: at once, and with the count of what is not acknowledged."""
    with Commands(own_broker.address).start("produce", topic, "--verbose", "--batch-lines", "1") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("one\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{topic}-0@0\n"
        own_broker.kill()
        process.stdin.write("two\n")
        process.stdin.flush()
        assert process.stderr is not None
        assert "trying again" in process.stderr.readline()
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, talk = process.communicate(timeout=20)
    assert (process.returncode, talk) == (1, "holdfast: 1 record acknowledged, 1 not\n")
    assert time.monotonic() - begun < 10


def test_a_line_may_come_in_pieces() -> None:
    pieces = [b"on", b"e\ntw", b"o", b"\n\nth", b"ree", b""]
    read = iter(pieces)
    assert [line for lines in split_lines(lambda _: next(read)) for line in lines] == [b"one", b"two", b"", b"three"]


def test_it_has_examples() -> None:
    assert "holdfast produce" in CliRunner().invoke(app, ["produce", "--help"]).stdout.split("Examples:")[1]


def closed_stdin() -> io.TextIOWrapper:
    stdin = io.TextIOWrapper(io.BytesIO(b"one\n"))
    stdin.buffer.close()
    return stdin


@pytest.mark.parametrize("stdin", [None, closed_stdin()], ids=["none", "closed"])
def test_a_closed_stdin_is_told_and_not_waited_for(stdin: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A1: nobody waits for ever for lines that cannot come."""
    monkeypatch.setattr(sys, "stdin", stdin)

    with pytest.raises(Rejected, match="stdin is closed"):
        list(read_lines(0.05))


def test_a_pipe_that_does_not_wait_has_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A1: another process that shares stdin may have made it so; lines that come later are lines, too."""
    there, writer = os.pipe()
    os.set_blocking(there, False)

    os.write(writer, b"one\n")
    found: list[bytes] = []
    with open(there, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        for lines in read_lines(0.01):
            found += lines
            if not lines:  # Nothing is there, and the pipe is open.
                os.write(writer, b"two\n")
                os.close(writer)
    assert found == [b"one", b"two"]


def test_lines_of_json_are_records(holdfast: Commands, topic: str) -> None:
    """K2: keys, tombstones, headers, times, bytes and objects; what is consumed as JSON is produced again as it was."""
    copy = f"{topic}-copy"
    lines = [
        {"value": "plain"},
        {"key": "k", "value": None, "timestamp": 1_700_000_000_123},
        {"key": {"base64": "/wA="}, "value": {"id": 7, "name": "ä"}, "headers": {"a": "1"}},
        {"value": "", "headers": [["a", None], ["a", {"base64": "/w=="}]]},
    ]
    holdfast.run("produce", topic, "--json", stdin="\n".join(map(json.dumps, lines)).encode())
    found = [(each.key(), each.value(), each.headers()) for each in read(holdfast.address, topic, 4)]
    assert found == [
        (None, b"plain", None),
        (b"k", None, None),
        (b"\xff\x00", '{"id":7,"name":"ä"}'.encode(), [("a", b"1")]),
        (None, b"", [("a", None), ("a", b"\xff")]),
    ]
    told = holdfast.run("consume", topic, "--no-follow", "--json").stdout
    assert json.loads(told.splitlines()[1])["timestamp"] == 1_700_000_000_123
    holdfast.run("produce", copy, "--json", stdin=told.encode())
    again = holdfast.run("consume", copy, "--no-follow", "--json").stdout
    assert again.replace(copy, topic) == told


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[", "Expecting value"),
        ('"x"', 'it must be an object with a "value"'),
        ('{"key": "k"}', 'it must be an object with a "value"'),
        ('{"value": "v", "keys": "k"}', "'keys' is none of headers, key, offset"),
        ('{"value": "v", "timestamp": "now"}', "milliseconds since 1970"),
        ('{"value": {"base64": "?"}}', "base64"),
    ],
)
def test_a_line_that_is_no_record_is_not_sent(holdfast: Commands, topic: str, line: str, why: str) -> None:
    """What came before it is."""
    told = holdfast.run(
        "produce", topic, "--json", "--batch-lines", "1", stdin=f'{{"value": "v"}}\n{line}\n'.encode(), code=1
    )
    assert "line 2 is no record" in told.stderr
    assert why in told.stderr
    assert "1 record acknowledged" in told.stderr
