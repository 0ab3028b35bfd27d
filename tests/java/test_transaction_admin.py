"""What Java's admin client sees of transactions, and what an operator can do about them with it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.java.jvm import JavaFailure, Jvm
from tests.java.serving import Serving
from tests.support.reading import read_twice, values_of


def begin(java: Jvm, name: str, *partitions: int) -> None:
    """A transaction with one record in each partition, and no end yet."""
    java.do("transactor.open", producer=name, config={"transactional.id": name, "transaction.timeout.ms": "50000"})
    java.do("transactor.begin", producer=name)
    records = [{"topic": name, "partition": number, "value": b"open"} for number in partitions]
    java.do("transactor.send", producer=name, records=records)


def producer_in(java: Jvm, topic: str) -> dict[str, Any]:
    """What the first partition remembers of the transactional producer, which was there before any other."""
    found = java.do("cluster.producers", partition=[topic, 0])
    return dict(min(found, key=lambda each: each["id"]))


def test_a_transaction_from_its_beginning_to_its_end(java: Jvm, name: str) -> None:
    """K4: it is listed and described with its state, its producer and its partitions."""
    java.do("topics.create", topic=name, partitions=3)
    begin(java, name, 0, 2)
    found = java.do("transactions.describe", id=name)
    assert (found["state"], found["timeout_ms"], found["started"]) == ("Ongoing", 50_000, True)
    assert found["partitions"] == [f"{name}-0", f"{name}-2"]
    producer = producer_in(java, name)
    assert (producer["id"], producer["epoch"]) == (found["producer"], found["epoch"])
    assert producer["transaction_start"] == 0
    assert java.do("transactions.list", states=["Ongoing"])[name] == "Ongoing"
    java.do("transactor.commit", producer=name)
    found = java.do("transactions.describe", id=name)
    assert (found["state"], found["partitions"]) == ("CompleteCommit", [])
    assert producer_in(java, name)["transaction_start"] == -1
    assert name not in java.do("transactions.list", states=["Ongoing"])
    assert java.do("transactions.list")[name] == "CompleteCommit"
    java.do("transactor.close", producer=name)


def test_an_id_that_nobody_has_used(java: Jvm, name: str) -> None:
    """K4: is told apart from one that does nothing."""
    with pytest.raises(JavaFailure, match="TransactionalIdNotFoundException"):
        java.do("transactions.describe", id=name)


def test_a_hanging_transaction_is_aborted(java: Jvm, broker: Serving, name: str) -> None:
    """K4: an operator ends it in its partition; what is behind it is seen again, and what was in it never is."""
    java.do("topics.create", topic=name, partitions=1)
    begin(java, name, 0)
    java.do("produce", records=[{"topic": name, "partition": 0, "value": b"behind"}])
    committed, everything = read_twice(broker.address, name, 1)
    assert (values_of(committed, 0), values_of(everything, 0)) == ([], [b"open", b"behind"])
    found = producer_in(java, name)
    assert found["transaction_start"] == 0
    whom = {"id": found["id"], "epoch": found["epoch"], "coordinator_epoch": max(found["coordinator_epoch"], 0)}
    java.do("transactions.abort", partition=[name, 0], **whom)
    assert producer_in(java, name)["transaction_start"] == -1
    committed, everything = read_twice(broker.address, name, 1)
    assert (values_of(committed, 0), values_of(everything, 0)) == ([b"behind"], [b"open", b"behind"])
    java.do("transactor.close", producer=name)


def test_a_fenced_producer(java: Jvm, broker: Serving, name: str) -> None:
    """K4: an operator shuts a producer out; what it had open is aborted, and it is told when it goes on."""
    java.do("topics.create", topic=name, partitions=1)
    begin(java, name, 0)
    before = java.do("transactions.describe", id=name)["epoch"]
    assert java.do("transactions.fence", id=name) > before
    with pytest.raises(JavaFailure, match=r"ProducerFencedException|InvalidProducerEpochException"):
        java.do("transactor.commit", producer=name)
    committed, everything = read_twice(broker.address, name, 1)
    assert (values_of(committed, 0), values_of(everything, 0)) == ([], [b"open"])
    java.do("transactor.close", producer=name)


def test_another_producer_takes_over(java: Jvm, broker: Serving, name: str) -> None:
    """K4: the older one of a transactional id is fenced, and what it left open is aborted."""
    java.do("topics.create", topic=name, partitions=1)
    begin(java, name, 0)
    java.do("transactor.open", producer=f"{name}-heir", config={"transactional.id": name})
    with pytest.raises(JavaFailure, match=r"ProducerFencedException|InvalidProducerEpochException"):
        java.do("transactor.commit", producer=name)
    java.do("transactor.begin", producer=f"{name}-heir")
    java.do(
        "transactor.send", producer=f"{name}-heir", records=[{"topic": name, "partition": 0, "value": b"of the heir"}]
    )
    java.do("transactor.commit", producer=f"{name}-heir")
    committed, everything = read_twice(broker.address, name, 1)
    assert (values_of(committed, 0), values_of(everything, 0)) == ([b"of the heir"], [b"open", b"of the heir"])
    for each in (name, f"{name}-heir"):
        java.do("transactor.close", producer=each)


@pytest.mark.parametrize("call", ["describe", "create", "delete"])
def test_access_control_is_switched_off(java: Jvm, call: str) -> None:
    """K2: whoever asks for it is told that there is no authorizer, as Kafka tells it."""
    with pytest.raises(JavaFailure, match="SecurityDisabledException"):
        java.do(f"acls.{call}")
