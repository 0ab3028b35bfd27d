"""A real broker, one for all tests of a worker, and connections to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.broker.wire import Wire
from tests.support.broker_process import BrokerProcess

FAST = (
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=100",
    "log.retention_check_ms=100",
)
_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that all tests share."""
    with BrokerProcess(tmp_path_factory.mktemp("broker"), settings=FAST) as process:
        yield process


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Callable[..., BrokerProcess]]:
    """Starts brokers of the test's own: with other settings, or to be stopped and killed."""
    started: list[BrokerProcess] = []

    def start(*settings: str) -> BrokerProcess:
        process = BrokerProcess(tmp_path / f"data-{len(started)}", settings=[*FAST, *settings])
        started.append(process)
        process.start()
        return process

    yield start
    for process in started:
        process.__exit__()


@pytest.fixture
def wire(broker: BrokerProcess) -> Iterator[Wire]:
    """A connection to the broker that all tests share."""
    with Wire(broker.port) as connection:
        yield connection


@pytest.fixture
def admin(broker: BrokerProcess) -> AdminClient:
    """librdkafka's client for operators."""
    return AdminClient({"bootstrap.servers": broker.address})


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """The name of a topic that no other test uses."""
    return f"{request.node.originalname.removeprefix('test_')[:60]}-{next(_numbers)}"


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    """The name of a group that no other test uses."""
    return f"group-{request.node.originalname.removeprefix('test_')[:60]}-{next(_numbers)}"


@pytest.fixture(autouse=True)
def _what_the_broker_says(request: pytest.FixtureRequest) -> Iterator[None]:
    """Shown beside a test that fails."""
    if "broker" not in request.fixturenames:
        yield
        return
    process: BrokerProcess = request.getfixturevalue("broker")
    before = len(process.said)
    yield
    print("\n".join(process.said[before:]))
