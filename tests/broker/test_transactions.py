"""Transactions over the wire, in both ways: partitions added by requests, or by being produced to."""

from __future__ import annotations

import pytest
from tests.broker.transactor import Transactor, committed, uncommitted
from tests.broker.wire import Wire, create_topic

BOTH_WAYS = pytest.mark.parametrize("implicit", [False, True], ids=["explicit", "implicit"])


@BOTH_WAYS
def test_a_transaction_is_seen_whole_or_not_at_all(wire: Wire, topic: str, implicit: bool) -> None:
    """K4: committed readers see nothing before the commit, all after it, and never anything that was aborted."""
    create_topic(wire, topic, 2)
    producer = Transactor(wire, topic, implicit=implicit)
    assert producer.init() == 0
    producer.write(topic, b"a")
    producer.write(topic, b"b", partition=1)
    assert (committed(wire, topic), committed(wire, topic, 1)) == ([], [])
    assert (uncommitted(wire, topic), uncommitted(wire, topic, 1)) == ([b"a"], [b"b"])
    assert producer.end(commit=True) == 0
    assert (committed(wire, topic), committed(wire, topic, 1)) == ([b"a"], [b"b"])
    producer.write(topic, b"x")
    producer.write(topic, b"y", partition=1)
    assert producer.end(commit=False) == 0
    producer.write(topic, b"c")
    assert producer.end(commit=True) == 0
    assert (committed(wire, topic), committed(wire, topic, 1)) == ([b"a", b"c"], [b"b"])
    assert (uncommitted(wire, topic), uncommitted(wire, topic, 1)) == ([b"a", b"x", b"c"], [b"b", b"y"])
