"""A partition of a share group, held against a list with one entry for each record."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from holdfast.coordinator.share.errors import InvalidRecordState
from holdfast.coordinator.share.partition import (
    Acquired,
    AvailableRange,
    Image,
    Judged,
    RecordState,
    RecordVerdict,
    ShareLimits,
    SharePartition,
)
from holdfast.coordinator.share.records import decode_image, encode_image

LIMITS = ShareLimits(deliveries_max=3, records_max=12, lock_ms=100)
MEMBERS = st.sampled_from("abc")
NEAR = st.integers(-2, 12)  # From the start of what is under way.


def new() -> SharePartition:
    return SharePartition(Image(0, ()))


def acquire(partition: SharePartition, member: str = "a", end: int = 5, count: int = 100) -> list[Acquired]:
    first = partition.next_offset(LIMITS)
    assert first is not None
    return partition.acquire(member, AvailableRange(first, end), count, LIMITS, now=0)


class Truth(RuleBasedStateMachine):
    """Everything that was given to members, record by record."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.log_end = 0
        self.log_start = 0
        self.partition = new()
        self.state: list[RecordState] = []  # By offset.
        self.count: list[int] = []
        self.holder: list[tuple[str, int] | None] = []
        self.judged: set[int] = set()  # Accepted or rejected, and told so.
        self.known_start = 0
        self.cut = 0  # Below this the log has let records go since the last crash.

    @rule(count=st.integers(1, 9))
    def produce(self, count: int) -> None:
        self.log_end += count

    @rule(member=MEMBERS, size=st.integers(1, 9), count=st.integers(1, 9), spoiled=st.booleans())
    def acquire(self, member: str, size: int, count: int, spoiled: bool) -> None:
        first = self.partition.next_offset(LIMITS)
        if first is None or first >= self.log_end:
            return
        end = min(first + size, self.log_end)
        bad = [range(first, first + 1)] if spoiled else []
        given = self.partition.acquire(member, AvailableRange(first, end, bad), count, LIMITS, self.now)
        while len(self.state) < min(end, self.partition.start + LIMITS.records_max) and len(self.state) < end:
            self.state.append(RecordState.AVAILABLE)
            self.count.append(0)
            self.holder.append(None)
        for each in bad:
            for offset in each:
                if offset < len(self.state) and self.state[offset] is RecordState.AVAILABLE:
                    self.state[offset] = RecordState.ARCHIVED
        for begin, stop, deliveries in given:
            for offset in range(begin, stop):
                assert self.state[offset] is RecordState.AVAILABLE, "given twice, or after it was done with"
                self.count[offset] += 1
                assert deliveries == self.count[offset] <= LIMITS.deliveries_max
                self.state[offset], self.holder[offset] = RecordState.ACQUIRED, (member, self.now + LIMITS.lock_ms)
        assert sum(stop - begin for begin, stop, _ in given) <= count

    @rule(member=MEMBERS, near=NEAR, size=st.integers(1, 6), said=st.lists(st.sampled_from(RecordVerdict), min_size=6))
    def acknowledge(self, member: str, near: int, size: int, said: list[RecordVerdict]) -> None:
        first = max(self.partition.start + near, 0)
        end = first + size
        held = [
            offset < self.cut or (offset < len(self.state) and (self.holder[offset] or ("", 0))[0] == member)
            for offset in range(first, end)
        ]
        try:
            self.partition.acknowledge(member, [Judged(first, end, said[:size])], LIMITS, self.now)
        except InvalidRecordState:
            assert not all(held), "a verdict was refused that was the member's to give"
            return
        assert all(held), "a record was judged by somebody who does not have it"
        for offset, verdict in zip(range(first, end), said, strict=False):
            if offset >= self.cut:
                self._judge(offset, verdict, member)

    def _judge(self, offset: int, verdict: RecordVerdict, member: str) -> None:
        if verdict is RecordVerdict.RENEW:
            self.holder[offset] = (member, self.now + LIMITS.lock_ms)
        elif verdict is RecordVerdict.RELEASE:
            self._free(offset)
        else:
            assert offset not in self.judged, "acknowledged twice"
            self.judged.add(offset)
            self.state[offset] = RecordState.ACKNOWLEDGED if verdict is RecordVerdict.ACCEPT else RecordState.ARCHIVED
            self.holder[offset] = None

    def _free(self, offset: int) -> None:
        exceeded = self.count[offset] >= LIMITS.deliveries_max
        self.state[offset] = RecordState.ARCHIVED if exceeded else RecordState.AVAILABLE
        self.holder[offset] = None

    @rule(member=MEMBERS, delivered=st.booleans())
    def leave(self, member: str, delivered: bool) -> None:
        self.partition.release(member, LIMITS, delivered=delivered)
        for offset, holder in enumerate(self.holder):
            if holder is not None and holder[0] == member:
                if delivered:
                    self._free(offset)
                else:
                    self.count[offset] -= 1
                    self.state[offset], self.holder[offset] = RecordState.AVAILABLE, None

    @rule(later=st.integers(1, 150))
    def wait(self, later: int) -> None:
        self.now += later
        self.partition.tick(self.now, LIMITS)
        for offset, holder in enumerate(self.holder):
            if holder is not None and holder[1] <= self.now:
                self._free(offset)

    @rule()
    def crash(self) -> None:
        """Everything but who has what comes back from what was stored."""
        self.partition = SharePartition(decode_image(encode_image(self.partition.image())))
        self.cut = 0
        for offset, holder in enumerate(self.holder):
            if holder is not None:
                self.count[offset] -= 1
                self.state[offset], self.holder[offset] = RecordState.AVAILABLE, None
        end = self.partition.end
        assert all(count == 0 for count in self.count[end:])
        del self.state[end:], self.count[end:], self.holder[end:]

    @rule(by=st.integers(1, 5))
    def retain(self, by: int) -> None:
        self.log_start = min(self.log_start + by, self.log_end)
        if self.log_start <= self.partition.start:
            self.log_start = min(self.log_start, self.partition.start)
            return
        while len(self.state) < self.log_start:
            self.state.append(RecordState.ARCHIVED)
            self.count.append(0)
            self.holder.append(None)
        self.partition.cut(self.log_start)
        self.cut = self.log_start
        for offset in range(self.log_start):
            if self.state[offset] in (RecordState.AVAILABLE, RecordState.ACQUIRED):
                self.state[offset], self.holder[offset] = RecordState.ARCHIVED, None

    @invariant()
    def is_the_same(self) -> None:
        start = next(
            (
                offset
                for offset, state in enumerate(self.state)
                if state in (RecordState.AVAILABLE, RecordState.ACQUIRED)
            ),
            len(self.state),
        )
        assert self.partition.start == start >= self.known_start, "the start is wrong, or went back"
        self.known_start = start
        assert self.partition.end == max(start, len(self.state))
        found = [
            (offset, run.state, run.count, (run.member, run.deadline) if run.state is RecordState.ACQUIRED else None)
            for run in self.partition.runs
            for offset in range(run.first, run.end)
        ]
        known = zip(range(len(self.state)), self.state, self.count, self.holder, strict=True)
        assert [each[:2] + each[3:] for each in found] == [each[:2] + each[3:] for each in list(known)[start:]]
        assert self.partition.end - self.partition.start <= LIMITS.records_max
        open_states = (RecordState.AVAILABLE, RecordState.ACQUIRED)
        assert all(each[2] == self.count[each[0]] for each in found if each[1] in open_states)


class TestTruth(Truth.TestCase):
    """K8: no record is acknowledged twice, none is lost, each is delivered until somebody has judged it or it was
    delivered as often as is allowed, and the start only grows; across crashes."""

    settings = settings(max_examples=80, stateful_step_count=30, deadline=None)


def test_a_release_is_delivered_again_until_the_limit() -> None:
    """K8: a record that is released three times where three deliveries are allowed is archived."""
    partition = new()
    for delivery in (1, 2, 3):
        assert acquire(partition, end=1) == [Acquired(0, 1, delivery)]
        partition.acknowledge("a", [Judged(0, 1, [RecordVerdict.RELEASE])], LIMITS, now=0)
    assert (partition.start, partition.runs) == (1, ())


def test_one_bad_batch_refuses_all() -> None:
    """K8: verdicts of one request are taken all together, or not at all."""
    partition = new()
    acquire(partition, end=2)
    with pytest.raises(InvalidRecordState):
        partition.acknowledge(
            "a", [Judged(0, 1, [RecordVerdict.ACCEPT]), Judged(1, 3, [RecordVerdict.ACCEPT])], LIMITS, now=0
        )
    with pytest.raises(InvalidRecordState):
        partition.acknowledge(
            "a", [Judged(0, 1, [RecordVerdict.ACCEPT]), Judged(0, 1, [RecordVerdict.RELEASE])], LIMITS, now=0
        )
    assert (partition.start, [run.state for run in partition.runs]) == (0, [RecordState.ACQUIRED])


def test_only_who_has_a_record_judges_it() -> None:
    """K8: a verdict by another member is refused, and changes nothing."""
    partition = new()
    acquire(partition, "a", end=2)
    with pytest.raises(InvalidRecordState):
        partition.acknowledge("b", [Judged(0, 1, [RecordVerdict.ACCEPT])], LIMITS, now=0)
    assert partition.start == 0


def test_whole_batches() -> None:
    """K8: a reader that takes whole batches gets the rest of the one in which its limit lies."""
    partition = new()
    found = AvailableRange(0, 9, (), (4, 6, 9))
    assert partition.acquire("a", found, 5, LIMITS, 0, whole=True) == [Acquired(0, 6, 1)]
    assert partition.acquire("b", found, 1, LIMITS, 0) == [Acquired(6, 7, 1)]


def test_locks_are_bounded() -> None:
    """K8: no more records are under way than is allowed, and a verdict makes room for more."""
    partition = new()
    assert acquire(partition, end=100) == [Acquired(0, 12, 1)]
    assert partition.next_offset(LIMITS) is None
    partition.acknowledge("a", [Judged(0, 3, [RecordVerdict.ACCEPT])], LIMITS, now=0)
    assert acquire(partition, "b", end=100) == [Acquired(12, 15, 1)]


@pytest.mark.parametrize("verdicts", [[], [9], [1, 1, 1]])
def test_verdicts_that_are_none(verdicts: list[int]) -> None:
    """K8: an unknown verdict, none, or too many of them are refused."""
    partition = new()
    acquire(partition, end=2)
    with pytest.raises(InvalidRecordState):
        partition.acknowledge("a", [Judged(0, 2, verdicts)], LIMITS, now=0)
