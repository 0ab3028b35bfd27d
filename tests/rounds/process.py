"""One process of the model: it takes over what others left, writes rounds, flushes, purges, forgets, until it is ended.

Rounds, series, seals, purge and takeover are the real code; only what stands for partitions and manifests is made here.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import UUID

from tests.rounds.flushed import open_flushed
from tests.rounds.turns import Actor, SteppedObjects

from holdfast.errors import Fenced, Rejected, Unavailable
from holdfast.io.chance import SeededChance
from holdfast.io.objects import Exists
from holdfast.io.versions import VersionRetries
from holdfast.log.entry import BATCHES
from holdfast.log.rounds.format import ROUND, Round, RoundHeader, Row, encode_round
from holdfast.log.rounds.places import RoundPlaces
from holdfast.log.rounds.series import Series, SeriesId, all_series
from holdfast.log.rounds.takeover import take_over
from holdfast.log.rounds.under_way import RoundsUnderWay
from holdfast.types import PartitionId

if TYPE_CHECKING:
    from tests.rounds.world import World

T = TypeVar("T")

PARTITIONS = (0, 1)
OWNERS = "owner/"
_TOPIC = UUID(int=1)
_UNDER_WAY_MAX = 4
_VALUES = "<{}Q"


class Entry(NamedTuple):
    """Some values of one partition."""

    index: int
    start: int
    values: tuple[int, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.values)


class Tail:
    """What is not flushed of one partition."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.stray_end = 0  # Of what came before a gap.
        self.acked = 0  # Below this everything exists.

    @property
    def end(self) -> int:
        return self.entries[-1].end if self.entries else 0


class Process:
    """One life."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world = world
        self.random = chance
        self.clock = world.new_clock()
        self.objects = SteppedObjects(world.objects, world.turns, chance)
        seeded = SeededChance(chance.getrandbits(32))
        self.patience = VersionRetries(self.clock, seeded, lambda _: world.turns.step(), tries=3)
        self.actors: list[Actor] = []
        self.tails = {each: Tail() for each in PARTITIONS}
        self.places = RoundPlaces()
        self.under_way = RoundsUnderWay(world.grace_s)
        self.rounds: dict[int, list[tuple[int, Entry]]] = {}  # By number: partitions and entries.
        self.next_index = 0
        self.is_over = False
        self.serves = False
        self.forgotten: list[tuple[float, Series]] = []
        self.rest = 0
        self.begin(self.main)

    def begin(self, work: Callable[[], None]) -> None:
        self.actors.append(self.world.turns.begin(work))

    def kill(self) -> bool:
        """Whether anything of it was alive."""
        alive = [each for each in self.actors if not each.is_killed and not each.is_over]
        for actor in alive:
            actor.is_killed = True
        return bool(alive)

    def main(self) -> None:
        try:
            self.claim()
            self.take_over()
            self.put_first_round()
            self.serves = True
            self.world.begins(self)
            while not self.is_over:
                self.do_something()
        except Fenced:
            self.is_over = True

    # To begin

    def claim(self) -> None:
        while True:
            try:
                self.life = self.newest_claim() + 1
                self.objects.put_if_absent(f"{OWNERS}{self.life:020}", [b""])
            except (Unavailable, Exists):
                continue
            self.series = Series(self.objects, SeriesId(self.life, 1), self.patience, self.world.grace_s)
            return

    def newest_claim(self) -> int:
        return max((int(each.name[len(OWNERS) :]) for each in self.objects.list(OWNERS)), default=0)

    def check_newest(self) -> None:
        """A life that has not put its first round before the next claim is never sealed: it must not begin."""
        if self.again(self.newest_claim) != self.life:
            raise Fenced("another process has come")

    def take_over(self) -> None:
        self.manifests = self.again(self._take_over)
        for partition, manifest in self.manifests.items():
            while True:
                self.check_newest()
                if self.again(manifest.lead):
                    break
                self.again(manifest.refresh)
            self.drop_flushed(partition)

    def _take_over(self) -> dict[int, object]:
        self.tails = {each: Tail() for each in PARTITIONS}
        self.places, self.next_index = RoundPlaces(), 0
        series = all_series(self.objects, self.patience, self.world.grace_s)
        loaded = take_over(
            series,
            {"by": self.life},
            self.replay,
            lambda: {each: open_flushed(self.objects, each, self.patience) for each in PARTITIONS},
        )
        for tail in self.tails.values():
            tail.acked = tail.end
        return loaded

    def replay(self, series: Series, rounds: list[Round]) -> None:
        for row in (row for found in rounds for row in found.rows):
            [content] = row.pieces
            values = struct.unpack(_VALUES.format(len(content) // 8), content)
            assert row.end - row.first == len(values)
            tail = self.tails[row.home.partition]
            if tail.entries and tail.end != row.first:
                assert tail.end < row.first, "Offsets were given twice."
                tail.stray_end, tail.entries = tail.end, []  # What lies between is flushed, and its rounds are gone.
            tail.entries.append(Entry(self.next_index, row.first, values))
            self.next_index += 1
        self.places.inherit(series, self.next_index)

    def drop_flushed(self, partition: int) -> None:
        tail, flushed = self.tails[partition], len(self.manifests[partition].value.values)
        tail.entries = [each for each in tail.entries if each.end > flushed]
        tail.acked = max(tail.acked, flushed)
        assert tail.stray_end <= flushed, "Acknowledged records are missing between rounds."
        if tail.entries:
            assert tail.entries[0].start <= flushed, "Acknowledged records are missing between store and rounds."

    def put_first_round(self) -> None:
        self.send_round([])
        while self.under_way.count and not self.is_over:
            self.world.turns.step()
        self.check_newest()

    def again(self, call: Callable[[], T]) -> T:
        while True:
            try:
                return call()
            except Unavailable:
                self.world.turns.step()

    # To serve

    def do_something(self) -> None:
        drawn = self.random.random()
        try:
            if drawn < 0.45 and self.under_way.count < _UNDER_WAY_MAX:
                self.send_round([self.append() for _ in range(self.random.randrange(1, 4))])
            elif drawn < 0.65:
                self.flush(self.random.choice(PARTITIONS))
            elif drawn < 0.85:
                self.purge()
            else:
                self.world.turns.step()
        except Unavailable:
            pass
        self.world.turns.step()

    def append(self) -> tuple[int, Entry]:
        partition = self.random.choice(PARTITIONS)
        tail = self.tails[partition]
        start = max(tail.end, len(self.manifests[partition].value.values))
        values = tuple(self.world.new_value() for _ in range(self.random.randrange(1, 3)))
        entry = Entry(self.next_index, start, values)
        self.next_index += 1
        tail.entries.append(entry)
        return partition, entry

    def send_round(self, entries: list[tuple[int, Entry]]) -> None:
        number, needed_from = self.under_way.begin()
        nonce = f"{self.patience.chance.bits(128):032x}"
        rows = []
        for partition in PARTITIONS:
            mine = [entry for each, entry in entries if each == partition]
            if mine:
                values = [value for entry in mine for value in entry.values]
                content = struct.pack(_VALUES.format(len(values)), *values)
                rows.append(Row(BATCHES, PartitionId(_TOPIC, partition), mine[0].start, mine[-1].end, [content]))
        header = RoundHeader(ROUND, self.series.id.broker, self.life, number, needed_from, nonce)
        data = [b"".join(encode_round(header, rows))]
        self.rounds[number] = entries
        self.places.add(self.next_index)
        self.begin(lambda: self.send(number, data, nonce))

    def send(self, number: int, data: list[bytes], nonce: str) -> None:
        while not self.is_over:
            try:
                self.series.send(number, list(data), nonce, lambda: self.under_way.unknown)
            except Unavailable:
                self.world.turns.step()
                continue
            except Fenced:
                self.world.counts["sealed behind its back"] += not self.is_over
                self.is_over = True
                return
            before = self.under_way.end
            for each in range(before, self.under_way.exists(number, self.clock.boottime())):
                self.acknowledge(each)
            return

    def acknowledge(self, number: int) -> None:
        entries = self.rounds.pop(number)
        self.world.acknowledged(self, number, entries)
        for partition, entry in entries:
            self.tails[partition].acked = entry.end

    def flush(self, partition: int) -> None:
        tail, manifest = self.tails[partition], self.manifests[partition]
        manifest.refresh()
        self.drop_flushed(partition)
        flushed = len(manifest.value.values)
        values = [value for each in tail.entries if each.end <= tail.acked for value in each.values]
        first = tail.entries[0].start if tail.entries else flushed
        if values[flushed - first :]:
            try:
                manifest.commit([flushed, values[flushed - first :]])
            except Rejected:
                return
            self.drop_flushed(partition)

    def purge(self) -> None:
        pinned = [tail.entries[0].index for tail in self.tails.values() if tail.entries]
        needed, now = min(pinned, default=self.next_index), self.clock.boottime()
        self.under_way.need_from(self.places.round_of(needed))
        self.forgotten += [(-1.0, each) for each in self.places.release(needed)]
        for number, (forgotten_at, series) in enumerate(self.forgotten):
            if forgotten_at < 0:
                series.forget()
                self.world.counts["forgotten"] += 1
                self.forgotten[number] = self.clock.boottime(), series
            elif now >= forgotten_at + 2 * self.world.grace_s:
                self.world.swept.add(series.id)
                series.sweep()
                self.world.counts["swept"] += 1
                del self.forgotten[number]
                break
        going = self.under_way.to_delete(now)
        self.series.delete(going)
        self.under_way.deleted(going.stop)
        self.world.counts["purged"] += len(going)

    def log(self, partition: int) -> tuple[int, ...]:
        """All values, flushed and not."""
        flushed = list(self.manifests[partition].value.values)
        for entry in self.tails[partition].entries:
            flushed[entry.start :] = entry.values if entry.start >= len(flushed) else flushed[entry.start :]
            if entry.end > len(flushed):
                flushed[entry.start :] = entry.values
        return tuple(flushed)
