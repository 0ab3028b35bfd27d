"""One partition as a share group reads it. Its rules, and nothing else: no I/O, no clock.

Every record between `start` and `end` is in one of four states, kept as runs of neighbours that are alike:

    available ──acquire──▶ acquired ──accept──▶ acknowledged
        ▲                     │ └─────reject──▶ archived
        └─release, time is up─┘  (archived instead when it was delivered as often as is allowed)

What lies below `start` is done with for good, and `start` only grows. Whatever has changed and has to survive makes
`revision` grow; `image` is what is to be stored. Who has acquired a record does not survive: after a restart it is
available again, and the delivery that nobody has judged is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import NamedTuple, TypeAlias

from holdfast.coordinator.share.errors import InvalidRecordState


class RecordState(IntEnum):
    """Where a record is in its cycle; the numbers are stored."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4


class RecordVerdict(IntEnum):
    """What a consumer says of a record; the numbers are those of requests."""

    GAP = 0  # There is no record at this offset.
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4  # I am still at it.


class Acquired(NamedTuple):
    """Neighbours that were given to a member; `end` is exclusive."""

    first: int
    end: int
    delivery_count: int


class AvailableRange(NamedTuple):
    """What was read from the log, to be given to a member; `end` is exclusive."""

    first: int
    end: int
    spoiled: Sequence[range] = ()  # Of aborted transactions: nobody may see it.
    batch_ends: Sequence[int] = ()


class Judged(NamedTuple):
    """What a member says of the records from `first` on: one verdict for each, or one for all up to `end`."""

    first: int
    end: int
    verdicts: Sequence[int]


@dataclass(frozen=True, slots=True)
class OffsetRun:
    """Neighbours that are alike; `end` is exclusive."""

    first: int
    end: int
    state: RecordState
    count: int = 0  # How often they were delivered.
    member: str = ""  # Who has acquired them, …
    deadline: int = 0  # … and until when.


class Image(NamedTuple):
    """What survives: the start, and the runs above it, without who has them."""

    start: int
    runs: tuple[OffsetRun, ...]

    @property
    def completed(self) -> int:
        """How many above the start are done with."""
        done = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
        return sum(run.end - run.first for run in self.runs if run.state in done)


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """What a group allows."""

    deliveries_max: int = 5
    records_max: int = 2000  # Between start and end, at most.
    lock_ms: int = 30_000


Change: TypeAlias = tuple[int, int, RecordVerdict]  # From an offset to an exclusive end.


class SharePartition:
    """One partition of one group. Times are milliseconds of a clock that never goes back."""

    def __init__(self, image: Image) -> None:
        self.start = image.start
        self._runs: list[OffsetRun] = list(image.runs)
        self._cut = 0  # Below this the log has let records go while members may have had them.
        self.revision = 0
        self.given_up = 0  # Records that were delivered as often as is allowed, and nobody judged: archived.
        self._settle()

    @property
    def end(self) -> int:
        """Behind the last record that was ever given to anybody."""
        return self._runs[-1].end if self._runs else self.start

    @property
    def runs(self) -> tuple[OffsetRun, ...]:
        return tuple(self._runs)

    @property
    def deadline(self) -> int | None:
        """When `tick` is to be called, at the latest."""
        return min((run.deadline for run in self._runs if run.state is RecordState.ACQUIRED), default=None)

    def next_offset(self, limits: ShareLimits) -> int | None:
        """The first record that may be acquired, if it is there; None while as many as are allowed are under way."""
        for run in self._runs:
            if run.state is RecordState.AVAILABLE:
                return run.first
        return self.end if self.end - self.start < limits.records_max else None

    # Changes

    def acquire(
        self, member: str, found: AvailableRange, count_max: int, limits: ShareLimits, now: int, *, whole: bool = False
    ) -> list[Acquired]:
        """Give a member what is free of what was read: at most so many, or `whole` batches until it is so many."""
        first, end, spoiled, ends = found
        self._extend(first, min(end, self.start + limits.records_max))
        self._change([(each.start, min(each.stop, self.end), _archive_if_free) for each in spoiled])
        given: list[Acquired] = []
        left = count_max
        for run in self._runs:
            begin, stop = max(run.first, first), min(run.end, end)
            if left <= 0 or run.state is not RecordState.AVAILABLE or stop <= begin:
                continue
            if begin + left < stop:
                batch_end = next((each for each in ends if each >= begin + left), stop) if whole else begin + left
                stop = min(stop, batch_end)
            given.append(Acquired(begin, stop, run.count + 1))
            left -= stop - begin
        taking = partial(_take, member=member, deadline=now + limits.lock_ms)
        self._change([(begin, stop, taking) for begin, stop, _ in given])
        self._settle()
        return given

    def acknowledge(self, member: str, batches: Iterable[Judged], limits: ShareLimits, now: int) -> None:
        """Take a member's verdicts: all of them, or none."""
        changes = sorted(change for batch in batches for change in _changes(batch, limits.records_max))
        self._check_held(member, changes)
        judging = [
            (first, end, partial(self._judge, said=said, limits=limits, now=now)) for first, end, said in changes
        ]
        self._change(judging)
        self.revision += any(said is not RecordVerdict.RENEW for _, _, said in changes)
        self._settle()

    def release(self, member: str, limits: ShareLimits, *, delivered: bool) -> None:
        """A member is gone. What it had is free; it counts as a delivery only if it may have been `delivered`."""
        self._free([each for each in self._runs if each.member == member], limits, delivered=delivered)

    def tick(self, now: int, limits: ShareLimits) -> int:
        """Free what was held for too long; how many records that were."""
        late = [run for run in self._runs if run.state is RecordState.ACQUIRED and run.deadline <= now]
        self._free(late, limits, delivered=True)
        return sum(run.end - run.first for run in late)

    def _free(self, runs: Sequence[OffsetRun], limits: ShareLimits, *, delivered: bool) -> None:
        if runs:
            freeing = partial(self._freed, limits=limits, delivered=delivered)
            self._change([(run.first, run.end, freeing) for run in runs])
            self.revision += 1
            self._settle()

    def cut(self, log_start: int) -> None:
        """The log begins here now: what was before it is gone."""
        if log_start <= self.start:
            return
        self._cut = log_start
        self._runs = [_within(run, log_start, run.end) for run in self._runs if run.end > log_start]
        self.start = log_start
        self.revision += 1
        self._settle()

    def image(self) -> Image:
        """What has to be stored. A delivery that nobody has judged yet is not counted."""
        runs = []
        for run in self._runs:
            count = run.count - 1 if run.state is RecordState.ACQUIRED else run.count
            state = RecordState.AVAILABLE if run.state is RecordState.ACQUIRED else run.state
            runs.append(OffsetRun(run.first, run.end, state, count))
        while runs and runs[-1].state is RecordState.AVAILABLE and runs[-1].count == 0:
            runs.pop()  # As if they had never been given to anybody.
        return Image(self.start, tuple(_merged(runs)))

    def _judge(self, run: OffsetRun, *, said: RecordVerdict, limits: ShareLimits, now: int) -> OffsetRun:
        if said is RecordVerdict.RENEW:
            return replace(run, deadline=now + limits.lock_ms)
        if said is RecordVerdict.RELEASE:
            return self._freed(run, limits=limits, delivered=True)
        state = RecordState.ACKNOWLEDGED if said is RecordVerdict.ACCEPT else RecordState.ARCHIVED
        return OffsetRun(run.first, run.end, state, run.count)

    def _freed(self, run: OffsetRun, *, limits: ShareLimits, delivered: bool) -> OffsetRun:
        if not delivered:
            return OffsetRun(run.first, run.end, RecordState.AVAILABLE, run.count - 1)
        state = RecordState.ARCHIVED if run.count >= limits.deliveries_max else RecordState.AVAILABLE
        self.given_up += run.end - run.first if state is RecordState.ARCHIVED else 0
        return OffsetRun(run.first, run.end, state, run.count)

    # Runs

    def _check_held(self, member: str, changes: Sequence[Change]) -> None:
        """Raise unless everything that is judged is the member's, and judged once."""
        held = (run for run in self._runs if run.state is RecordState.ACQUIRED and run.member == member)
        run = next(held, None)
        checked = 0
        for first, end, _ in changes:
            if first < checked:
                raise InvalidRecordState(member, first, end, "they are judged twice")
            checked = end
            at = max(first, min(self._cut, end))
            while at < end:
                while run is not None and run.end <= at:
                    run = next(held, None)
                if run is None or run.first > at:
                    raise InvalidRecordState(member, first, end)
                at = min(run.end, end)

    def _extend(self, first: int, end: int) -> None:
        """Let offsets behind the end be available; those that are left out are no records."""
        begin = self.end
        if end <= begin or first > begin:
            return
        self._runs.append(OffsetRun(begin, end, RecordState.AVAILABLE))

    def _change(self, changes: Sequence[tuple[int, int, Callable[[OffsetRun], OffsetRun]]]) -> None:
        """Replace what lies between offsets. In order, and none over another: one walk for all of them."""
        runs: list[OffsetRun] = []
        at = 0
        for run in self._runs:
            begin = run.first
            while at < len(changes) and changes[at][1] <= begin:
                at += 1
            following = at
            while following < len(changes) and changes[following][0] < run.end:
                first, end, change = changes[following]
                inner = _within(run, max(begin, first), min(run.end, end))
                if inner.end > inner.first:
                    if begin < inner.first:
                        runs.append(_within(run, begin, inner.first))
                    runs.append(change(inner))
                    begin = inner.end
                following += 1
            if begin < run.end:
                runs.append(run if begin == run.first else _within(run, begin, run.end))
        self._runs = runs

    def _settle(self) -> None:
        """Let the start grow over what is done with."""
        runs = _merged(self._runs)
        done = 0
        while done < len(runs) and runs[done].state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED):
            self.start = runs[done].end
            done += 1
        if done:
            self.revision += 1
        self._runs = runs[done:]
        assert all(a.end == b.first for a, b in zip(self._runs, self._runs[1:], strict=False)), "runs have gaps"
        assert not self._runs or self._runs[0].first == self.start, "the first run begins at the start"


def _changes(batch: Judged, records_max: int) -> list[Change]:
    """Neighbours with the same verdict together."""
    first, end, verdicts = batch
    if first < 0 or end <= first or len(verdicts) not in (1, end - first) or len(verdicts) > records_max:
        raise InvalidRecordState("", first, end, f"{len(verdicts)} verdicts for {end - first} records")
    try:
        said = [RecordVerdict(each) for each in verdicts]
    except ValueError as failure:
        raise InvalidRecordState("", first, end, f"there is no such verdict: {failure}") from None
    if len(said) == 1:
        return [(first, end, said[0])]
    changes: list[Change] = []
    for offset, verdict in enumerate(said, first):
        if changes and changes[-1][2] is verdict:
            changes[-1] = (changes[-1][0], offset + 1, verdict)
        else:
            changes.append((offset, offset + 1, verdict))
    return changes


def _take(run: OffsetRun, *, member: str, deadline: int) -> OffsetRun:
    return OffsetRun(run.first, run.end, RecordState.ACQUIRED, run.count + 1, member, deadline)


def _archive_if_free(run: OffsetRun) -> OffsetRun:
    return OffsetRun(run.first, run.end, RecordState.ARCHIVED, run.count) if run.state is RecordState.AVAILABLE else run


def _within(run: OffsetRun, first: int, end: int) -> OffsetRun:
    return OffsetRun(max(run.first, first), min(run.end, end), run.state, run.count, run.member, run.deadline)


def _merged(runs: Iterable[OffsetRun]) -> list[OffsetRun]:
    merged: list[OffsetRun] = []
    for run in runs:
        last = merged[-1] if merged else None
        if last is not None and _kind(last) == _kind(run):
            merged[-1] = OffsetRun(last.first, run.end, *_kind(run))
        else:
            merged.append(run)
    return merged


def _kind(run: OffsetRun) -> tuple[RecordState, int, str, int]:
    return run.state, run.count, run.member, run.deadline
