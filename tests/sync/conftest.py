"""Two clusters, as processes, for all tests that kill nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from holdfast.client import Client
from holdfast.testing import RunningBroker, running_broker

_numbers = itertools.count()


class Pair(NamedTuple):
    """Two brokers and a client of each."""

    a: RunningBroker
    b: RunningBroker
    at_a: Client
    at_b: Client

    @property
    def addresses(self) -> tuple[str, str]:
        return self.a.bootstrap, self.b.bootstrap


@pytest.fixture(scope="session")
def brokers() -> Iterator[tuple[RunningBroker, RunningBroker]]:
    keep = {"log_retention_ms": -1}  # Records have old timestamps, and the brokers run for minutes.
    with running_broker(**keep) as a, running_broker(**keep) as b:
        yield a, b


@pytest.fixture
def pair(brokers: tuple[RunningBroker, RunningBroker]) -> Iterator[Pair]:
    a, b = brokers
    with Client(a.bootstrap, "test") as at_a, Client(b.bootstrap, "test") as at_b:
        yield Pair(a, b, at_a, at_b)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """The name of a topic that no other test uses."""
    return f"{request.node.originalname.removeprefix('test_')[:60]}-{next(_numbers)}"
