"""A broker, and a JVM with Kafka's clients connected to it: one of each for all tests of a worker."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from tests.java.jvm import Jvm, missing
from tests.java.serving import Serving

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def needs_java() -> None:
    """Without a JDK or Maven the test is skipped; with them, the Java clients have to be there."""
    reason = missing()
    if reason and reason.endswith("is missing"):
        pytest.skip(reason)
    if reason:
        pytest.fail(reason)


@pytest.fixture(scope="session")
def broker(needs_java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A running broker."""
    with Serving(tmp_path_factory.mktemp("broker")) as serving:
        yield serving


@pytest.fixture(scope="session")
def java(broker: Serving) -> Iterator[Jvm]:
    """Kafka's Java clients."""
    with Jvm(broker.address) as jvm:
        yield jvm


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for a topic or a group that no other test uses."""
    return f"{request.node.originalname.removeprefix('test_')}-{next(_numbers)}"
