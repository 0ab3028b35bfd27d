"""The plugin of pytest, as a project sees it that only has Holdfast installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def holdfast_settings():
    return {"num_partitions": 2}
"""
TESTS = """
import sys

from confluent_kafka import Producer

seen = []

def partitions(broker):
    return len(Producer({"bootstrap.servers": broker.bootstrap}).list_topics("t", timeout=60).topics["t"].partitions)

def test_shared(holdfast_broker):
    assert partitions(holdfast_broker) == 2
    seen.append(holdfast_broker.pid)

def test_shared_again(holdfast_broker, holdfast_own_broker):
    assert seen == [holdfast_broker.pid]
    assert partitions(holdfast_own_broker) == 2
    holdfast_own_broker.kill()
    assert not holdfast_own_broker.is_running
    assert holdfast_broker.is_running

def test_a_brokers_parts_are_not_loaded_here():
    assert sys.modules.keys().isdisjoint({"numpy", "kafka", "typer", "holdfast.wal", "holdfast.broker"})
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_project_gets_a_broker_for_all_tests_and_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_project.py").write_text(TESTS)
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_fixtures_explain_themselves(tmp_path: Path) -> None:
    shown = run(tmp_path, "--fixtures").stdout
    for name in ("holdfast_broker [session scope]", "holdfast_own_broker", "holdfast_settings [session scope]"):
        assert name in shown


FAILS = """
def test_fails(holdfast_broker):
    assert holdfast_broker.port == 0
"""


def test_a_test_that_fails_shows_what_its_broker_said(tmp_path: Path) -> None:
    (tmp_path / "test_project.py").write_text(FAILS)
    done = run(tmp_path)
    assert done.returncode == 1
    assert "holdfast_broker: what the broker said last" in done.stdout
    assert "Kafka clients at" in done.stdout
