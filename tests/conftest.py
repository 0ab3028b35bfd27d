"""What tests of all parts share: the S3 server, and the order of files."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
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
