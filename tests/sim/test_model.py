"""The model says what it should: each sentence of a crash test is shown to be said."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.sim.model import Committed, Model, PartitionModel

ONE, TWO = UUID(int=1), UUID(int=2)


def partition() -> PartitionModel:
    """Records 0 and 1 are acknowledged, 2 was sent."""
    made = PartitionModel()
    made.sent.update([b"p:0", b"p:1", b"p:2"])
    made.acknowledge(0, [b"p:0", b"p:1"])
    return made


def check(*values: bytes, end: int | None = None, start: int = 0) -> None:
    made = partition()
    found = [(start + number, value) for number, value in enumerate(values)]
    made.check(start, start + len(values) if end is None else end, found, dict(made.known))


def test_a_record_that_was_not_acknowledged_may_be_there_or_not() -> None:
    """A8: both are right."""
    check(b"p:0", b"p:1")
    check(b"p:0", b"p:1", b"p:2")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([b"p:0"], "An acknowledged record was lost"),
        ([b"p:0", b"p:2"], "Offset 1 had b'p:1', and then b'p:2'"),
        ([b"p:0", b"p:1", b"q:0"], "A ghost came back"),
        ([b"p:0", b"p:1", b"p:1"], "A record is there too often"),
    ],
)
def test_the_model_takes_nothing_else(values: list[bytes], sentence: str) -> None:
    """A8: lost, moved, invented, doubled."""
    with pytest.raises(AssertionError, match=sentence):
        check(*values)


def test_holes_and_a_late_start_are_seen() -> None:
    """L2: every offset is accounted for."""
    with pytest.raises(AssertionError, match="are not there once each"):
        check(b"p:0", b"p:1", end=3)
    with pytest.raises(AssertionError, match="An acknowledged record was lost"):
        check(b"p:1", b"p:2", start=1)


def test_the_order_of_a_producer_is_seen() -> None:
    """A8: in order."""
    made = PartitionModel()
    made.sent.update([b"p:0", b"p:1"])
    with pytest.raises(AssertionError, match="The order does not hold"):
        made.check(0, 2, [(0, b"p:1"), (1, b"p:0")], {})


def test_what_a_reader_was_shown_must_stay() -> None:
    """W10: what was read after a start is still there after the next crash."""
    made = partition()
    made.see([(2, b"p:2")])
    with pytest.raises(AssertionError, match="An acknowledged record was lost"):
        made.check(0, 2, [(0, b"p:0"), (1, b"p:1")], dict(made.known))


def test_topics_stay_or_go_for_ever() -> None:
    """K6: a creation that was acknowledged stays, a deletion that happened stays, too."""
    model = Model()
    model.created("a", ONE, 1)
    with pytest.raises(AssertionError, match="An acknowledged topic was lost"):
        model.check_topics({})
    with pytest.raises(AssertionError, match="came from nowhere"):
        model.check_topics({ONE: ("a", 1), TWO: ("b", 1)})
    model.creating["b"] = 1
    model.check_topics({ONE: ("a", 1), TWO: ("b", 1)})
    model.topics[ONE].leaving = True
    model.check_topics({TWO: ("b", 1)})
    with pytest.raises(AssertionError, match="A deleted topic came back"):
        model.check_topics({ONE: ("a", 1), TWO: ("b", 1)})


def test_committed_offsets_only_go_forward() -> None:
    """A8: never back, and never to where nobody went."""
    committed = Committed(acked=3, sent={3, 5})
    committed.check(5, acked=3)
    with pytest.raises(AssertionError, match="went back"):
        committed.check(3, acked=committed.acked)
    with pytest.raises(AssertionError, match="came from nowhere"):
        committed.check(6, acked=5)


def test_an_unclean_end_raises_the_epoch_and_producer_ids_never_repeat() -> None:
    """A2, K4: so that nobody takes one history for another."""
    model = Model(epoch=4)
    model.check_epoch(4, clean=True)
    with pytest.raises(AssertionError, match="did not rise"):
        model.check_epoch(4, clean=False)
    model.new_producer(1)
    with pytest.raises(AssertionError, match="given twice"):
        model.new_producer(1)
