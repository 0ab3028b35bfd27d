"""The log lines of a short life, with a real `holdfast serve`: each state change once, no noise, no secrets."""

from __future__ import annotations

import io
import json
import logging
import re
import timeit
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from holdfast.cli.serve.lines import begin_lines
from holdfast.cli.serve.redact import redacted
from holdfast.testing.process import BrokerDidNotStart, RunningBroker

TEXT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (INFO|WARNING|ERROR|CRITICAL) +holdfast[a-z._]*: .+")


def live(data: Path, *options: str) -> list[str]:
    """Start, make a topic, write to it, delete it, stop; all lines on stderr."""
    broker = RunningBroker(data, options=options)
    broker.start()
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.create_topics([NewTopic("orders", 2, 1)])
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for number in range(20):
        producer.send("orders", b"%d" % number, partition=number % 2).get(10)
    producer.close()
    admin.delete_topics(["orders"])
    admin.close()
    assert broker.stop() == 0
    return [line for line in broker.said if "event loop was held" not in line]  # As on a busy machine.


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    """The lines of two lives on one directory: the first for people, the second for machines."""
    data = tmp_path_factory.mktemp("lines") / "data"
    return live(data), live(data, "--log-format", "json")


def events(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


LIFE = ["recovered", "serving", "topic_created", "topic_deleted", "stopping", "stopped"]
PORTS = 3  # Other ports than Kafka's may say where they are, once each.


def test_each_state_change_is_one_line_for_machines(life: tuple[list[str], list[str]]) -> None:
    """K6, O2: recovered, serving, topic made and deleted, stopping, stopped; nothing twice, nothing per request."""
    lines = events(life[1])
    assert [each["event"] for each in lines if each.get("event") in LIFE] == LIFE
    messages = [each["message"] for each in lines]
    assert len(messages) == len(set(messages)) <= len(LIFE) + PORTS
    assert all({"time", "level", "logger", "message"} <= set(each) for each in lines)
    by_event = {each["event"]: each for each in lines if "event" in each}
    assert by_event["recovered"]["clean"] is True
    assert by_event["topic_created"]["topic"] == "orders"
    assert by_event["topic_created"]["partitions"] == 2
    assert by_event["serving"]["listen"].startswith("127.0.0.1:")


def test_the_same_lines_for_people(life: tuple[list[str], list[str]]) -> None:
    """The first start also makes the internal topics; apart from that the lines say the same."""
    assert all(TEXT.fullmatch(line) for line in life[0]), life[0]
    said = [line.split(" ", 3)[3].strip() for line in life[0] if "topic __" not in line]
    wanted = [(each["logger"], each["message"].split()[0]) for each in events(life[1])]
    assert sorted(tuple(line.split()[:2]) for line in said) == sorted((f"{name}:", word) for name, word in wanted)


def test_a_failed_start_is_a_json_line_too(tmp_path: Path) -> None:
    """O1: also what stops a start is one line, in the form that was asked for."""
    with RunningBroker(tmp_path / "data", options=["--log-format", "json"]):
        second = RunningBroker(tmp_path / "data", options=["--log-format", "json"])
        with pytest.raises(BrokerDidNotStart):
            second.start()
        lines = events(second.said)
    assert [each["level"] for each in lines] == ["critical"]
    assert "is in use by process" in lines[0]["message"]


SECRETS = [
    "s3://AKIA123:hunter2@bucket/prefix",
    "https://user:hunter2@proxy:8080/",
    "az://container?sig=hunter2&x=1",
    "password=hunter2",
    "aws_secret_access_key: hunter2, region",
    "X-Amz-Signature=hunter2&X-Amz-Credential=hunter2",
    "session_token='hunter2'",
    'x=password="a b hunter2"; y',
    'PlainLoginModule required username="a" user_alice="hunter2";',
    'ssl.key.password = "a \\" hunter2"',
    "Authorization: Bearer hunter2",
    "authorization: basic hunter2",
    "key -----BEGIN RSA PRIVATE KEY-----\\nhunter2\\n-----END RSA PRIVATE KEY----- end",
    "-----BEGIN PRIVATE KEY----- cut off: hunter2",
    '{"password":"hunter2"}',
    "{'secret': 'hunter2'}",
]


@pytest.mark.parametrize("text", SECRETS)
def test_no_secret_is_shown(text: str) -> None:
    """X11: whatever a store's error or address holds."""
    assert "hunter2" not in redacted(text)


def test_what_is_no_secret_stays() -> None:
    for text in (
        "s3://bucket/prefix",
        "Kafka clients at 127.0.0.1:9092",
        "topic a@b made",
        "file:///data/objects",
        "Basic authentication is off",
    ):
        assert redacted(text) == text


LONG = [
    "0" * 4096,
    "secret" * 700,
    "a." * 2048,
    "x://" * 1024,
    "a=" * 2048,
    "a" + " " * 4095,
    "Bearer " * 600,
    "-----BEGIN PRIVATE KEY-----" * 150,
    "\"'" * 2048,
    'secret="\\' * 500,
]


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:12])
def test_a_line_that_a_client_has_made_long_costs_little(text: str) -> None:
    """K9: twice the text, twice the time, whatever is in it: the loop is held by those who write lines."""

    def took(text: str) -> float:
        return min(timeit.repeat(lambda: redacted(text), number=3, repeat=5))

    assert took(text * 4) < 10 * took(text)


@pytest.fixture
def restored_logging() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("holdfast")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


@pytest.mark.usefixtures("restored_logging")
def test_a_json_line_is_one_line_whatever_it_holds() -> None:
    """Newlines, quotes, other scripts, an exception: one object a line; libraries are heard only when they warn."""
    stream = io.StringIO()
    begin_lines("info", "json", stream)
    log = logging.getLogger("holdfast.test")
    log.info('a\nb "c" %s', "日本", extra={"facts": {"event": "x", "path": Path("/a"), "level": "no"}})
    try:
        raise ValueError("s3://u:hunter2@b")
    except ValueError:
        log.exception("failed")
    logging.getLogger("numba").info("noise")
    first, second = events(stream.getvalue().splitlines())
    assert first["message"] == 'a\nb "c" 日本'
    assert (first["event"], first["path"], first["level"]) == ("x", "/a", "info")
    assert "ValueError" in second["traceback"]
    assert "hunter2" not in stream.getvalue()
