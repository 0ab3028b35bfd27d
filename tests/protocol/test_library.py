"""The library's messages come without its clients, and its clients are there for whoever wants them."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("kafka.producer", "kafka.consumer", "kafka.admin", "numba", "pyarrow", "obstore", "rich")


def run(code: str) -> str:
    """What a fresh Python prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_broker_loads_no_clients_and_nothing_else_that_it_does_not_need_to_start() -> None:
    loaded = set(run("import sys, holdfast.broker.running, holdfast.cli.serve; print(*sys.modules)").split())
    assert "kafka.protocol.api_message" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_the_clients_can_be_imported_behind_the_messages() -> None:
    code = """
import holdfast.protocol.classes
from holdfast.protocol.api import Key
mine = holdfast.protocol.classes.response_class(Key.FETCH)
import kafka
from kafka import KafkaProducer, protocol
from kafka.protocol.consumer import FetchResponse
assert mine is FetchResponse
print(KafkaProducer.__module__, kafka.__version__ != "", hasattr(kafka, "no_such_name"))
"""
    assert run(code).split() == ["kafka.producer.kafka", "True", "False"]


def test_the_clients_can_be_imported_before_the_messages() -> None:
    code = """
from kafka import KafkaConsumer
import holdfast.protocol.classes
from holdfast.protocol.api import Key
print(holdfast.protocol.classes.request_class(Key.METADATA).__module__)
"""
    assert run(code).strip() == "kafka.protocol.metadata.metadata"


def test_many_threads_may_ask_for_the_clients_at_once() -> None:
    code = """
import threading
import holdfast.protocol.classes
together = threading.Barrier(8)
found = []
def ask():
    together.wait()
    from kafka import KafkaAdminClient
    found.append(KafkaAdminClient)
threads = [threading.Thread(target=ask) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
print(len(found), len(set(found)))
"""
    assert run(code).split() == ["8", "1"]
