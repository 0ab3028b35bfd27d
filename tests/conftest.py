"""What tests of all parts share: the S3 server, and the order of files."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # So that `tests.support` can be imported from any test.

from tests.support.s3_server import S3Server, missing

# A shell lets what it starts in the background ignore Ctrl-C, and so would every process under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A file is one worker's from its first test to its last: one with long tests that begins late is waited for alone.
LONG_PARTS = {"spark", "torture", "demo", "sync", "kill", "sim", "java", "bugs"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests first; what is in a file keeps its order."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, not LONG_PARTS.intersection(item.path.parts)))


@pytest.fixture(autouse=True)
def _levels_of_lines_are_put_back() -> Iterator[None]:
    """What one test changes of the loggers is not the next one's: that one would see lines nobody meant for it."""
    loggers = [logging.getLogger(), logging.getLogger("holdfast")]
    before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = [handler for handler in handlers if not _of_pytest(handler)] + [
            handler for handler in logger.handlers if _of_pytest(handler)
        ]


def _of_pytest(handler: logging.Handler) -> bool:
    return type(handler).__module__.startswith("_pytest.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A worker's report travels as UTF-8: what is no text in a captured line would end the worker, and the run."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode("utf-8")) for name, text in report.sections
    ]
    return report


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A running S3 server. Without Go the test is skipped; with it, the server has to be there."""
    reason = missing()
    if reason and "Go is missing" in reason:
        pytest.skip(reason)
    if reason:
        pytest.fail(reason)
    with S3Server() as server:
        yield server


@pytest.fixture
def s3_bucket(s3_server: S3Server) -> str:
    """The name of a new, empty bucket on the S3 server."""
    return s3_server.fresh_bucket()


@pytest.fixture
def s3_store(s3_server: S3Server, s3_bucket: str) -> tuple[str, dict[str, Any]]:
    """A URL and options for `open_objects`: an empty prefix of a fresh bucket."""
    return f"s3://{s3_bucket}/some/prefix", dict(s3_server.options)
