"""What rounds hold that may be in no segment, as the store alone tells it: without a broker, and while some write.

Look at it before the manifests, and at who leads before both. A round goes only long after the manifests that have its
batches were committed, and a partition is flushed before it moves. So a manifest that is loaded later begins nowhere
behind the tail that was seen earlier, however the log moves.

Whoever looks again reads only the rounds that are new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from holdfast.cluster.identity import read_cluster
from holdfast.cluster.leads import Leads
from holdfast.cluster.lives import Lives
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.io.clock import SystemClock
from holdfast.io.objects import NotFound, Objects
from holdfast.io.versions import VersionRetries
from holdfast.log import entry
from holdfast.log.rounds.format import HEADER_SIZE, ROW_SIZE, Round
from holdfast.log.rounds.series import Series, SeriesId, all_series
from holdfast.log.rounds.takeover import RoundOrSeal, look_at_series
from holdfast.record.batch import BatchHeader, split
from holdfast.record.marker import read_marker
from holdfast.types import PartitionId

T = TypeVar("T", bound=RoundOrSeal)

_NO_WRITER = VersionRetries.of_readers()
_READS_AT_A_TIME = 16
_LISTED_S = 60.0  # Between two looks for rounds in a store that has none.


class RoundRun(NamedTuple):
    """Batches of one partition and one leader epoch that lie together in a round."""

    name: str  # Of the round.
    position: int
    size: int
    start: int  # The offsets [start, end).
    end: int
    epoch: int


class TransactionStep(NamedTuple):
    """What a batch of a transaction says of it: it goes on, or how it ends."""

    offset: int
    epoch: int
    producer_id: int
    marker: int | None  # A `MarkerKind`.


class SeenTail(NamedTuple):
    """What rounds have of one partition, in order."""

    runs: list[RoundRun]
    steps: list[TransactionStep]


@dataclass(frozen=True, slots=True)
class SeenRound:
    """What is kept of a round, or of a seal."""

    number: int
    is_seal: bool
    tails: Mapping[PartitionId, SeenTail]


@dataclass(frozen=True)
class SeenRounds:
    """One look at all rounds of a store. `again` is the next."""

    objects: Objects
    series: Mapping[SeriesId, Mapping[int, SeenRound]] = field(default_factory=dict)  # By number, with its seal.
    listed_s: float | None = None  # When it was looked for series.

    def again(self, lives: Lives) -> SeenRounds:
        """Read what is new. Where nothing tells of rounds, and none were there, they are looked for once a minute."""
        if not self.series and not lives.by_broker and not self._is_late():
            return self
        listed_s = SystemClock().boottime()
        read: dict[SeriesId, dict[int, SeenRound]] = {}

        def get(series: Series, number: int) -> SeenRound:
            known = self.series.get(series.id, {}).get(number)
            seen = known or summary(series.name(number), series.get(number))
            read.setdefault(series.id, {})[number] = seen
            return seen

        found = {}
        for each, rounds in look_at_rounds(self.objects, get):
            seals = [seen for seen in read.get(each.id, {}).values() if seen.is_seal]
            found[each.id] = {seen.number: seen for seen in (*rounds, *seals)}
        return SeenRounds(self.objects, found, listed_s)

    def have_moved(self, lives: Lives) -> bool:
        """Whether a series has gone on, or begun: one small read for each that has not ended.

        That of a broker that is alone begins behind the seal of the one before.
        """
        living: dict[SeriesId, Mapping[int, SeenRound]] = {
            SeriesId(each.life, each.broker): {} for each in lives.by_broker.values()
        }
        known = {**living, **self.series}
        return any(self._has_moved(each, rounds) for each, rounds in known.items()) or (not known and self._is_late())

    def _is_late(self) -> bool:
        return self.listed_s is None or SystemClock().boottime() >= self.listed_s + _LISTED_S

    def _has_moved(self, which: SeriesId, rounds: Mapping[int, SeenRound]) -> bool:
        if any(each.is_seal for each in rounds.values()):
            return False
        try:
            self.objects.size(Series(self.objects, which, _NO_WRITER).name(max(rounds, default=-1) + 1))
        except NotFound:
            return False
        return True

    def tails(self, leads: Leads) -> dict[PartitionId, SeenTail]:
        """What may be in no segment, by partition, in the order of offsets."""
        found: dict[PartitionId, SeenTail] = {}
        for which, rounds in sorted(self.series.items()):
            for number in sorted(rounds):
                for home, tail in rounds[number].tails.items():
                    kept = found.setdefault(home, SeenTail([], []))
                    kept.runs.extend(each for each in tail.runs if may_be_needed(leads, which.life, home, each.epoch))
                    kept.steps.extend(each for each in tail.steps if may_be_needed(leads, which.life, home, each.epoch))
        return found


def look_at_rounds(objects: Objects, get: Callable[[Series, int], T]) -> Iterator[tuple[Series, list[T]]]:
    """All series that are not forgotten, in the order of their lives, each with those of its rounds that count."""
    series = all_series(objects, _NO_WRITER)
    if not series:
        return
    with ThreadPoolExecutor(_READS_AT_A_TIME, thread_name_prefix="holdfast-rounds") as pool:
        for each in series:
            yield each, look_at_series(each, pool, get)


def leads_in(objects: Objects) -> Leads:
    """Who leads which partition, where each has a leader of its own."""
    try:
        return MetadataLog(objects, read_cluster(objects), "", _NO_WRITER).metadata.leads
    except NotFound:  # No broker has ever finished its start there.
        return Leads()


def may_be_needed(leads: Leads, life: int, home: PartitionId, epoch: int) -> bool:
    """Whether a batch of this leader epoch, in a round of this life, may be in no segment.

    Where many lead, what is not flushed is with the life that the row names, in the epoch of the row, and nowhere else.
    What an earlier stay has left, there or elsewhere, is flushed.
    """
    if not leads.is_spread:
        return True
    lead = leads.of(home)
    return lead.life == life and epoch >= lead.epoch


def summary(name: str, found: Round) -> SeenRound:
    """What is kept of a round that was read."""
    tails: dict[PartitionId, SeenTail] = {}
    position = HEADER_SIZE + len(found.rows) * ROW_SIZE
    for row in found.rows:
        (content,) = row.pieces
        if row.kind == entry.BATCHES:
            tail = tails.setdefault(row.home, SeenTail([], []))
            at = position
            for header, batch in split(content):
                _add(tail, name, at, header, batch)
                at += header.size
        position += len(content)
    return SeenRound(found.header.number, found.is_seal, tails)


def _add(tail: SeenTail, name: str, at: int, header: BatchHeader, batch: memoryview) -> None:
    epoch, end = header.leader_epoch, header.end_offset
    last = tail.runs[-1] if tail.runs else None
    if last is not None and (last.position + last.size, last.end, last.epoch) == (at, header.base_offset, epoch):
        tail.runs[-1] = last._replace(size=last.size + header.size, end=end)
    else:
        tail.runs.append(RoundRun(name, at, header.size, header.base_offset, end, epoch))
    if header.is_transactional:
        marker = read_marker(batch).kind if header.is_control else None
        tail.steps.append(TransactionStep(header.base_offset, epoch, header.producer_id, marker))
