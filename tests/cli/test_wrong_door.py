"""Commands at a port that is not theirs, and at a broker that hangs: one sentence, and an end."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator

import pytest
from tests.support.broker_process import COMMAND

from holdfast.testing import RunningBroker, free_port, running_broker


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    """With all ports that there are."""
    asked = {"serve_metrics_listen": "127.0.0.1:0", "serve_console_listen": "127.0.0.1:0"}
    with running_broker(subscribe_listen=f"127.0.0.1:{free_port()}", **asked) as broker:
        yield broker


def address(broker: RunningBroker, kind: str) -> str:
    """Of a port, as the broker named it when it started."""
    words = {"kafka": "Kafka clients at", "metrics": "metrics at", "console": "console at", "grpc": "subscribers at"}
    [found] = re.findall(rf"{words[kind]} (?:http://)?([\d.]+:\d+)", "\n".join(broker.said))
    return str(found)


def told(*arguments: str) -> str:
    """The last line of a command that fails in time."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=90)
    assert done.returncode == 1, done.stdout
    line = done.stderr.splitlines()[-1]
    assert line.isprintable()
    return line


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("kafka", "does not speak HTTP"), ("grpc", "does not speak HTTP"), ("console", "it may be the console")],
)
def test_a_status_is_not_asked_at_another_port(broker: RunningBroker, kind: str, sentence: str) -> None:
    line = told("status", address(broker, kind))
    assert sentence in line
    assert "metrics have a port of their own" in line


@pytest.mark.parametrize("kind", ["metrics", "console"])
def test_a_subscription_at_a_port_of_http_ends_with_a_sentence(broker: RunningBroker, kind: str) -> None:
    where = address(broker, kind)
    assert f"{where} speaks HTTP, as a console and metrics do" in told("subscribe", "orders", "--address", where)


@pytest.mark.parametrize("kind", ["metrics", "console", "grpc"])
def test_a_kafka_client_at_a_port_for_others_ends_with_a_sentence(broker: RunningBroker, kind: str) -> None:
    assert address(broker, kind) in told("topic", "list", "--bootstrap", address(broker, kind))


@pytest.mark.parametrize("kind", ["metrics", "console", "kafka"])
def test_tls_at_a_port_without_it_is_ended_at_once(broker: RunningBroker, kind: str) -> None:
    host, _, port = address(broker, kind).partition(":")
    began = time.monotonic()
    with (
        pytest.raises((ssl.SSLError, ConnectionError)),
        socket.create_connection((host, int(port)), 9) as plain,
        ssl.create_default_context().wrap_socket(plain, server_hostname="localhost"),
    ):
        pass
    assert time.monotonic() - began < 5


def test_who_waits_for_a_broker_says_where() -> None:
    address = f"127.0.0.1:{free_port()}"
    with subprocess.Popen([COMMAND, "wait", "--bootstrap", address], stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        line = waiting.stderr.readline()
        waiting.kill()
    assert line == f"holdfast: no broker answers at {address} yet (connection refused); waiting, 60 s at most\n"


def test_waiting_for_a_broker_that_hangs_ends_when_it_was_said_to() -> None:
    with running_broker() as broker:
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            assert "did not answer in time" in told("wait", "--timeout", "1", "--bootstrap", broker.bootstrap)
            assert time.monotonic() - began < 10
        finally:
            os.kill(broker.pid, signal.SIGCONT)
