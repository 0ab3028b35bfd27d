"""Fixtures of pytest: every project that has Holdfast installed has them.

holdfast_broker          one broker for all tests of a session
holdfast_own_broker      a broker of the test's own, to be killed and started again
holdfast_secured_broker  one with TLS, users and rights, for all tests of a session
holdfast_settings        the settings of all, none unless a project's own conftest.py says otherwise
holdfast_users           its users, and what each may do; none but `admin` unless a conftest.py says otherwise
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from holdfast.testing.process import RunningBroker
from holdfast.testing.running import running_broker
from holdfast.testing.secured import SecuredBroker, secured_broker

_SHOWN = 30  # Lines.
_SHARED = "holdfast_shared"  # In what a worker of xdist is told.


class _Sharing:
    """The broker of the run, beside its workers: one for all of them, started with the first."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._broker: RunningBroker | None = None

    @pytest.hookimpl(optionalhook=True)  # There is no such hook without xdist.
    def pytest_configure_node(self, node: Any) -> None:
        if self._broker is None:
            self._broker = self._stack.enter_context(running_broker())
        node.workerinput[_SHARED] = self._broker.port

    def pytest_unconfigure(self) -> None:
        self._stack.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--holdfast-share`."""
    said = (
        "With pytest-xdist: one broker for all workers, instead of one each. Give topics and groups names of their own."
    )
    parser.getgroup("holdfast").addoption("--holdfast-share", action="store_true", help=said)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--holdfast-share") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Sharing(), "holdfast-sharing")


@pytest.fixture(scope="session")
def holdfast_settings() -> Mapping[str, object]:
    """Settings of the brokers, such as {"num_partitions": 3}. Override it in your conftest.py."""
    return {}


@pytest.fixture(scope="session")
def holdfast_users() -> Mapping[str, Sequence[str]]:
    """Users and their rights, such as {"alice": ["WRITE topic:orders"]}. Override it in your conftest.py."""
    return {}


@pytest.fixture(scope="session")
def holdfast_secured_broker(
    holdfast_users: Mapping[str, Sequence[str]], holdfast_settings: Mapping[str, object]
) -> Iterator[SecuredBroker]:
    """A broker with TLS, users and rights that all tests share: `conf("alice")`, `properties("alice")`."""
    with secured_broker(holdfast_users, **dict(holdfast_settings)) as broker:  # type: ignore[arg-type]
        yield broker


@pytest.fixture(scope="session")
def holdfast_broker(request: pytest.FixtureRequest, holdfast_settings: Mapping[str, object]) -> Iterator[RunningBroker]:
    """A Kafka-compatible broker that all tests share: `bootstrap`, `port`, `topic(name, …)`, `read(topic)`."""
    port = getattr(request.config, "workerinput", {}).get(_SHARED)
    if port is not None:
        if holdfast_settings:
            said = (
                "--holdfast-share gives all workers one broker, which takes no holdfast_settings: leave out one of them"
            )
            pytest.fail(said, pytrace=False)
        yield RunningBroker(Path(tempfile.gettempdir()) / "nowhere", port=port)  # Never started here: it runs.
        return
    with _running(holdfast_settings) as broker:
        yield broker


@pytest.fixture
def holdfast_own_broker(holdfast_settings: Mapping[str, object]) -> Iterator[RunningBroker]:
    """A Kafka-compatible broker of the test's own: `kill()`, `restart()`, `stop()`."""
    with _running(holdfast_settings) as broker:
        yield broker


_begun = False


def pytest_itemcollected(item: pytest.Item) -> None:
    """The first test that wants a broker lets its parts be loaded, while the others are collected."""
    global _begun
    if not _begun and any(name.startswith("holdfast_") for name in getattr(item, "fixturenames", ())):
        from holdfast.testing.template import TEMPLATE

        _begun = True
        if not item.config.option.collectonly:
            TEMPLATE.begin()


def _running(settings: Mapping[str, object]) -> AbstractContextManager[RunningBroker]:
    return running_broker(**dict(settings))  # type: ignore[arg-type]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails shows what its brokers said last."""
    report = yield
    if report.failed:
        for name, each in getattr(item, "funcargs", {}).items():
            if isinstance(each, RunningBroker):
                report.sections.append((f"{name}: what the broker said last", "\n".join(each.said[-_SHOWN:])))
    return report
