"""A real broker for all tests of the client, and a client of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from tests.support.broker_process import BrokerProcess

from holdfast.client import Client

_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("broker"), settings=("group.initial.rebalance.delay.ms=0",)) as process:
        yield process


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[Client]:
    with Client(broker.address, "test") as client:
        yield client


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """The name of a topic that no other test uses."""
    return f"{request.node.originalname.removeprefix('test_')[:60]}-{next(_numbers)}"
