"""Producers and transactions against the plain history: what a producer is told, and what is stable and aborted."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log import plain
from tests.log.log_world import NOW, from_producer
from tests.log.plain import PlainBatch

from holdfast.log.errors import ProducerEpochOld, SequenceGap, TransactionMismatch
from holdfast.log.partition.producers import ProducerTable, Transactions
from holdfast.record.batch import BatchHeader, read_header
from holdfast.record.layout import SEQUENCE_MASK
from holdfast.record.marker import Marker, MarkerKind, build_marker
from holdfast.segment.producers import from_rows, to_rows

producers = st.integers(1, 3)
epochs = st.integers(0, 2)
steps = st.lists(
    st.one_of(
        # The sequence is given as the distance from the expected one: 0 follows, others are repeats, gaps, old ones.
        st.tuples(
            st.just("send"), producers, epochs, st.integers(-8, 3), st.integers(1, 3), st.booleans(), st.booleans()
        ),
        st.tuples(st.just("end"), producers, epochs, st.booleans()),
        st.tuples(st.just("reopen")),
        st.tuples(st.just("flush"), st.integers(0, 100)),
        st.tuples(st.just("watermark"), st.integers(0, 100)),
    ),
    max_size=60,
)
_TOLD = {
    SequenceGap: "gap",
    ProducerEpochOld: "zombie",
    TransactionMismatch: "mismatch",
}
STARTS = (0, 5, SEQUENCE_MASK - 3)


def encoded(batches: list[PlainBatch]) -> Iterator[tuple[PlainBatch, BatchHeader, memoryview]]:
    """Batches with their headers and bytes."""
    for each in batches:
        if each.marker:
            kind = MarkerKind.ABORT if each.marker == "abort" else MarkerKind.COMMIT
            data = build_marker(Marker(kind, each.producer, each.epoch, 0, NOW))
        else:
            who = {"number": each.producer, "epoch": each.epoch, "transactional": each.transactional}
            data = from_producer(each.sequence, *[b"x"] * each.count, **who)
        yield each, read_header(data)._replace(base_offset=each.base), memoryview(data)


class Pair:
    """The real tables and the plain history, side by side."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.forgotten_below = 3 if start else 0  # Of the three producers, those below may begin anywhere.
        self.table = ProducerTable(forgotten_below=self.forgotten_below)
        self.now_ms = 0
        self.transactions = Transactions({})
        self.history: list[PlainBatch] = []
        self.flushed = self.high_watermark = 0

    @property
    def end(self) -> int:
        return self.history[-1].end if self.history else 0

    def send(self, producer: int, epoch: int, distance: int, count: int, transactional: bool, fresh: bool) -> None:
        last = [each for each in self.history if (each.producer, each.epoch, each.marker) == (producer, epoch, "")]
        follows = last[-1].last_sequence + 1 if last else (0 if fresh else self.start)
        sequence = (follows + distance) % plain.SEQUENCES
        sent = PlainBatch(self.end, count, b"", producer, epoch, sequence, transactional)
        [(_, header, data)] = encoded([sent])
        anywhere = producer < self.forgotten_below
        expected = plain.verdict(self.history, producer, epoch, sequence, count, transactional, anywhere=anywhere)
        try:
            found = self.table.find_repeat(header)
        except (SequenceGap, ProducerEpochOld, TransactionMismatch) as failure:
            told = _TOLD[type(failure)]
            assert told == expected
            return
        if found is not None:
            assert isinstance(expected, PlainBatch)
            assert found.base_offset == expected.base
            return
        assert expected == "append"
        self._add(sent, header, data)

    def mark(self, producer: int, epoch: int, abort: bool) -> None:
        marker = Marker(MarkerKind.ABORT if abort else MarkerKind.COMMIT, producer, epoch, 0, NOW)
        known = [each.epoch for each in self.history if each.producer == producer]
        try:
            self.table.check_marker(marker)
        except ProducerEpochOld:
            assert epoch < known[-1]
            return
        assert not known or epoch >= known[-1]
        [added] = encoded([PlainBatch(self.end, 1, b"", producer, epoch, marker="abort" if abort else "commit")])
        self._add(*added)

    def _add(self, batch: PlainBatch, header, data: memoryview) -> None:
        self.history.append(batch)
        self.now_ms += 1
        ended = self.table.apply(header, data, self.now_ms)
        if ended is not None:
            self.transactions.end(ended)
        elif batch.transactional:
            self.transactions.begin(batch.producer, batch.base)

    def reopen(self) -> None:
        """As recovery does it: the snapshot as of `flushed`, then all batches behind it once more."""
        before = ProducerTable()
        for each, header, data in encoded(self.history):
            if each.end <= self.flushed:
                before.apply(header, data, self.now_ms)
        self.table = ProducerTable(from_rows(to_rows(before.snapshot())), self.forgotten_below)
        self.transactions = Transactions(self.table.open_transactions())
        history, self.history = self.history, [each for each in self.history if each.end <= self.flushed]
        for added in encoded(history[len(self.history) :]):
            self._add(*added)
        self.high_watermark = self.end

    def flush(self, index: int) -> None:
        ends = [each.end for each in self.history if self.flushed < each.end <= self.high_watermark]
        if ends:
            self.flushed = ends[index % len(ends)]
            self.transactions.release(self.flushed)

    def watermark(self, index: int) -> None:
        ends = [each.end for each in self.history if each.end > self.high_watermark]
        if ends:
            self.high_watermark = ends[index % len(ends)]

    def check(self) -> None:
        assert self.table.open_transactions() == plain.transactions(self.history).open
        assert self.transactions.last_stable(self.high_watermark) == plain.last_stable(
            self.history, self.high_watermark
        )
        behind = [each for each in plain.transactions(self.history).aborted if each.last_offset >= self.flushed]
        assert self.transactions.aborted(0, 1 << 60) == behind
        middle = self.end // 2
        assert self.transactions.aborted(middle, middle + 3) == [
            each for each in behind if each.first_offset < middle + 3 and each.last_offset >= middle
        ]
        assert self.transactions.aborted_with_marker_in(self.flushed, middle) == [
            each for each in behind if each.last_offset < middle
        ]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(steps=steps, start=st.sampled_from(STARTS))
def test_against_the_plain_history(steps: list[tuple], start: int) -> None:
    """K4, L6: repeats, gaps, old repeats and zombies are told apart; open and aborted transactions and the last stable
    offset are right, while batches become readable and durable, are flushed, and after reopening."""
    pair = Pair(start)
    for action, *values in steps:
        {"send": pair.send, "end": pair.mark, "reopen": pair.reopen, "flush": pair.flush, "watermark": pair.watermark}[
            action
        ](*values)
        pair.check()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(steps=steps)
def test_only_silent_producers_without_a_transaction_are_forgotten(steps: list[tuple]) -> None:
    """K4: whoever has an open transaction, or was heard of since, is remembered."""
    pair = Pair(0)
    for action, *values in steps:
        if action in ("send", "end"):
            {"send": pair.send, "end": pair.mark}[action](*values)
    known = {each.producer for each in pair.history}
    undecided = plain.transactions(pair.history).open
    assert pair.table.expire(0) == 0
    assert pair.table.expire(pair.now_ms + 1) == len(known) - len(undecided)
    assert set(pair.table.snapshot()) == set(undecided)
