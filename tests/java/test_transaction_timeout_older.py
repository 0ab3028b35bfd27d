"""A transaction that takes too long, with a Java producer from before KIP-890: what Apache Kafka 4.3.1 tells it.

Its transactions share one epoch, so what is on its way could not be told from the next one: Kafka shuts the producer
out, whatever it does next, and so do we. The words below are those that the same steps got from Apache Kafka. One of a
newer release aborts and goes on: see `test_transaction_timeout.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.java.jvm import TOOLS, JavaFailure, Jvm
from tests.java.serving import Serving
from tests.java.test_transaction_timeout import Late, committed

RELEASE = "3.9.2"


@pytest.fixture(scope="module")
def older(broker: Serving) -> Iterator[Jvm]:
    jar: Path = TOOLS / "spark-jars" / f"kafka-clients-{RELEASE}.jar"
    assert jar.exists(), "make .venv/.holdfast-spark gets it"
    with Jvm(broker.address, jar) as jvm:
        yield jvm


@pytest.mark.parametrize(
    ("partition", "told"), [(0, "InvalidProducerEpochException"), (1, "ProducerFencedException"), (None, None)]
)
def test_a_producer_of_an_older_release_is_shut_out(
    broker: Serving, older: Jvm, name: str, partition: int | None, told: str | None
) -> None:
    """K4: whether it finds out by writing to the same partition, to another, or when it aborts; nothing of it is seen,
    and another one with its id goes on."""
    late = Late(older, broker, name)
    if partition is not None:
        assert late.send(b"later", partition) == told
    for step in ("abort", "begin", "commit"):
        with pytest.raises(JavaFailure, match="ProducerFencedException"):
            late.do(step)
    late.do("close")
    late.do("open", config={"transactional.id": name})
    late.do("begin")
    assert late.send(b"heir") == "written"
    late.do("commit")
    late.do("close")
    assert committed(broker, name) == [b"heir"]


def test_a_commit_of_an_older_release_is_refused(broker: Serving, older: Jvm, name: str) -> None:
    """K4: it is not told that what was aborted is committed."""
    late = Late(older, broker, name)
    with pytest.raises(JavaFailure, match="ProducerFencedException"):
        late.do("commit")
    late.do("close")
    assert committed(broker, name) == []
