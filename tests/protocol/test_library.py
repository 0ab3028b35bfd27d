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
    loaded = set(run("import sys, holdfast.broker.running, holdfast.cli.serve.command; print(*sys.modules)").split())
    assert "kafka.protocol.api_message" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert "kafka.protocol.admin" not in loaded, "classes are made when they are used"


def test_a_class_and_its_parts_are_made_when_they_are_used() -> None:
    code = """
import sys
from holdfast.protocol.api import Key
from holdfast.protocol.messages import encode_response, response_class
Answer = response_class(Key.LIST_PARTITION_REASSIGNMENTS)
Topic = Answer.OngoingTopicReassignment
Partition = Topic.OngoingPartitionReassignment
assert "kafka.protocol.admin" not in sys.modules
answer = Answer(topics=[Topic(name="orders", partitions=[Partition(partition_index=3)])])
sent = b"".join(encode_response(Key.LIST_PARTITION_REASSIGNMENTS, 0, answer))
print(b"orders" in sent, "kafka.protocol.admin" in sys.modules)
try:
    Answer.NoSuchPart()
except AttributeError:
    print("refused")
"""
    assert run(code).split() == ["True", "True", "refused"]


def test_the_clients_can_be_imported_behind_the_messages() -> None:
    code = """
import holdfast.protocol.classes
from holdfast.protocol.api import Key
mine = holdfast.protocol.classes.load_response(Key.FETCH)
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
print(holdfast.protocol.classes.load_request(Key.METADATA).__module__)
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
