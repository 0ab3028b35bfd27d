"""One broker in its cluster: it joins, says again and again that it lives, waits until it may lead, and ends.

    join    begins a life in the metadata; an earlier one of this broker is ended, if it is known to be dead
    beat    puts the lease
    wait    until nobody leads, or the leader has fallen silent, or has ended itself
    lead    one version of the metadata ends the leader before and names us: of several that try, one succeeds

Who is named has yet to take the store over (`log.recovery.begin_rounds`), which is where the leader before is fenced.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, NoReturn

from holdfast.cluster.errors import BrokerLives, LeaderLives, LifeOver, SpreadAlready
from holdfast.cluster.lease import BeatWatch, Lease, lease_name, read_lease
from holdfast.cluster.lives import BrokerLife, Lives, end, join, lead
from holdfast.cluster.metadata import Metadata
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.cluster.settings import ClusterSettings
from holdfast.errors import Fenced, HoldfastError, Unavailable
from holdfast.io.address import Address
from holdfast.io.calls import BlockingCalls
from holdfast.io.clock import Clock
from holdfast.io.objects import Objects
from holdfast.io.store_errors import NewerFormat, StoreSetBack

log = logging.getLogger(__name__)

_JOINS_EVERY = 2  # Intervals: so often a leader looks who has joined, for clients that ask it,
_OTHERS_EVERY = 3  # and, of these looks, in one of so many whether the others still live: nobody waits for their end.
_LEAVE_S, _UNHEARD_LEAVE_S = 5.0, 1.0  # To say that we leave; and where the store did not hear us before.
_GONE_S = 30.0  # So long clients are still told of a broker that has gone, from when we first know of it.
_LOOK = 1.1  # Intervals between two looks, where many lead: each finds a beat that is new;
_LATE_S = 0.01  # and one comes so long after the moment at which somebody falls silent.


class LifeEnded(Fenced):
    """Others have ended this life: it has to begin another."""

    def __init__(self, broker: int, life: int) -> None:
        super().__init__(f"life {life} of broker {broker} was ended by others, who heard nothing of it for a while")
        self.broker = broker
        self.life = life


@dataclass(frozen=True, slots=True)
class Self:
    """Who joins."""

    broker: int
    incarnation: str
    place: str
    name: str
    listeners: Mapping[str, Address]
    release: str | None = None  # Of the software, for people.
    rack: str = ""


class SeenLife(NamedTuple):
    """A life, as another sees it."""

    life: BrokerLife
    silent_s: float


class Member:
    """State changes on the loop. `calls` are its own: no slow segment keeps a beat waiting."""

    def __init__(
        self,
        metadata: MetadataLog,
        objects: Objects,
        me: Self,
        settings: ClusterSettings,
        calls: BlockingCalls,
        clock: Clock,
    ) -> None:
        self._log = metadata
        self._objects = objects
        self._me = me
        self._settings = settings
        self._calls = calls
        self._clock = clock
        self._interval_s = settings.lease_renew_ms / 1000
        self._beat = 0
        self._life: BrokerLife | None = None
        self._watches: dict[int, BeatWatch] = {}
        self._beating: asyncio.Task[None] | None = None
        self._is_blind = False
        self.beat_at = clock.boottime()  # When the last beat that succeeded began.
        self.leads = False
        self.unreachable: Callable[[], Collection[int]] = tuple  # Brokers that we cannot reach.
        self._gone_at: dict[int, float] = {}  # When we first knew that a life is over.
        self.subscribe: str | None = None  # Where our subscribers are; "": nowhere; None: that is not known yet.
        self._subscribe: dict[int, str] = {}  # The same of other lives, as far as they have said so.

    @property
    def metadata(self) -> Metadata:
        """As it was seen last."""
        return self._log.metadata

    @property
    def life(self) -> BrokerLife:
        assert self._life is not None, "it has not joined"
        return self._life

    def has_lease(self, owner_seen_at: float) -> bool:
        """Whether clients may be answered: we have said that we live, and have seen that we lead, not long ago."""
        seen = min(self.beat_at, owner_seen_at)
        return self._clock.boottime() - seen < self._settings.lease_ms / 1000

    @property
    def is_heard(self) -> bool:
        """Whether the store took our word that we live, not long ago."""
        return self._clock.boottime() - self.beat_at < self._settings.lease_ms / 1000

    def share(self, metadata: MetadataLog) -> None:
        """Look at the metadata together with others, who do so all the time."""
        self._log = metadata

    # To begin and to end

    async def join(self) -> None:
        """Begin a life. Raises BrokerLives if another broker of this number lives, elsewhere."""
        me = self._me
        step = join(me.broker, me.incarnation, me.place, me.name, me.listeners, rack=me.rack)
        while True:
            metadata = await self._calls.run(self._log.refresh)
            if metadata.leads.is_spread and self._settings.leaders == "one":
                raise SpreadAlready  # Before it lives: others would give it partitions.
            before = metadata.lives.by_broker.get(me.broker)
            if before is not None and before.place != me.place and not await self._falls_silent(before):
                raise BrokerLives(me.broker, before.name)
            try:
                found = await self._calls.run(self._log.commit, *([] if before is None else [end(before)]), step)
            except (BrokerLives, LifeOver):
                continue  # Others have ended it meanwhile, or one of the same number was quicker.
            self._life = found.lives.by_broker[me.broker]
            break
        if before is not None:
            await self._forget(before)
        await self.beat()
        facts = {"event": "joined", "broker": me.broker, "life": self.life.life}
        log.info("broker %d joined the cluster, life %d", me.broker, self.life.life, extra={"facts": facts})

    async def leave(self) -> None:
        """End our life, as far as the store lets us: otherwise others do when they hear nothing any more."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        if self._life is None:
            return
        facts = {"event": "left", "broker": self._life.broker, "life": self._life.life}
        try:
            await asyncio.wait_for(self._end(self._life), _LEAVE_S if self.is_heard else _UNHEARD_LEAVE_S)
            log.info("broker %d left the cluster", self._life.broker, extra={"facts": facts})
        except (TimeoutError, HoldfastError) as failure:
            why = str(failure) or "the store does not answer"
            said = "broker %d could not say that it leaves: others hear nothing of it, and end its life (%s)"
            log.warning(said, self._life.broker, why, extra={"facts": facts | {"event": "left_unsaid"}})

    async def _end(self, life: BrokerLife) -> None:
        await self._calls.run(self._log.commit, end(life))
        await self._forget(life)

    async def _forget(self, life: BrokerLife) -> None:
        self._watches.pop(life.life, None)
        self._subscribe.pop(life.life, None)
        with contextlib.suppress(HoldfastError):
            await self._calls.run(self._objects.delete, lease_name(life.broker, life.life))

    # To say that we live

    def start(self) -> None:
        """Beat from now on."""
        self._beating = asyncio.ensure_future(self._beat_on())

    async def _beat_on(self) -> NoReturn:
        while True:
            await self._calls.pause(self._interval_s)
            try:
                await self.beat()
                self._is_blind = False
            except HoldfastError as failure:
                level = logging.DEBUG if self._is_blind else logging.WARNING
                log.log(level, "nobody hears that broker %d lives: %s", self._me.broker, failure)
                self._is_blind = True

    async def beat(self) -> None:
        """Say once that we live. The number grows with the answer: who hears none has no lease, and is to be silent."""
        began, beat = self._clock.boottime(), self._beat + 1
        state, seen = "leading" if self.leads else "waiting", self.metadata.version
        unreachable = tuple(sorted(self.unreachable()))
        said = state, seen, unreachable, self.subscribe, self._me.release
        lease = Lease(self.life.broker, self.life.life, beat, *said)
        await self._calls.run(self._objects.put, lease.object_name, [lease.encode()])
        self._beat, self.beat_at = beat, began

    # To lead

    async def until_we_lead(self) -> bool:
        """Wait until the metadata names us. Whether somebody led before whose end was seen: nobody need be asked."""
        was_seen = False
        while True:
            with contextlib.suppress(Unavailable):  # No time passes while the store does not answer.
                lives = await self._look()
                gone = lives.leading
                if gone == self.life:  # By a commit that had no answer.
                    self.leads = True
                elif gone is not None and not await self._is_silent(gone):
                    was_seen = True
                else:
                    await self._try_to_lead(lives)
                if self.leads:
                    return was_seen
            await self._calls.pause(self._interval_s)

    async def _look(self, age_s_max: float = 0.0) -> Lives:
        """Who lives. What others have looked up for us will do, if it is no older."""
        if self._clock.boottime() - self._log.seen_at > age_s_max:
            await self._calls.run(self._log.refresh)
        lives = self._log.metadata.lives
        self._note_gone(lives)
        if not lives.has(self.life.life):
            raise LifeEnded(self.life.broker, self.life.life)
        return lives

    def _note_gone(self, lives: Lives) -> None:
        now = self._clock.boottime()
        self._gone_at = {each.life: self._gone_at.get(each.life, now) for each in lives.gone.values()}

    async def _try_to_lead(self, lives: Lives) -> None:
        """The eldest at once, the next one an interval later, and so on: one version of the metadata decides."""
        elder = [each for each in lives.eldest_first if each.life not in (self.life.life, lives.leader)]
        rank = sum(each.life < self.life.life for each in elder)
        if rank:
            await self._calls.pause(rank * self._interval_s)
            now = await self._look()
            if now.leader != lives.leader or (now.leading is not None and not await self._is_silent(now.leading)):
                return
        gone = lives.leading
        try:
            await self._calls.run(self._log.commit, *([] if gone is None else [end(gone)]), lead(self.life))
        except (LeaderLives, LifeOver):
            return
        self.leads = True
        facts = {"event": "leads", "broker": self.life.broker, "life": self.life.life}
        if gone is None:
            log.info("nobody leads: broker %d does", self.life.broker, extra={"facts": facts})
        else:
            silent_s = self._watch(gone).silent_s
            said = "broker %d has said nothing for %.1f s: broker %d takes over"
            log.warning(said, gone.broker, silent_s, self.life.broker, extra={"facts": facts | {"gone": gone.broker}})
            await self._forget(gone)

    async def lead_on(self, on_over: Callable[[HoldfastError], None]) -> None:
        """While we lead: end others that fall silent. `on_over` is told why we cannot go on ourselves."""
        for number in count(1):
            await self._calls.pause(_JOINS_EVERY * self._interval_s)
            try:
                lives = await self._look()
                if number % _OTHERS_EVERY == 0:
                    await self._end_silent(lives)
                    await self._calls.run(self._log.check_not_set_back)
            except (LifeEnded, NewerFormat, StoreSetBack) as over:
                on_over(over)
                return
            except HoldfastError as failure:
                log.debug("the others cannot be looked at: %s", failure)

    async def watch_on(self, on_over: Callable[[HoldfastError], None]) -> None:
        """Where many lead: end others that fall silent, the eldest first. `on_over` is told why we cannot go on."""
        for number in count(1):
            await self._calls.pause(self._until_look_s())
            try:
                if number % (_JOINS_EVERY * _OTHERS_EVERY) == 0:
                    await self._calls.run(self._log.check_not_set_back)
                lives = await self._look(self._interval_s)
                for each in lives.eldest_first:
                    if each.life != self.life.life and await self._is_silent(each):
                        await self._end_in_turn(each, lives)
            except (LifeEnded, NewerFormat, StoreSetBack) as over:
                on_over(over)
                return
            except HoldfastError as failure:
                log.debug("the others cannot be looked at: %s", failure)

    def _until_look_s(self) -> float:
        """Until the next look at the others: earlier than usual if one of them falls silent before."""
        now = self._clock.boottime()
        watches = (self._watches.get(each.life) for each in self.metadata.lives.by_broker.values())
        left = (each.left_s(now) + _LATE_S for each in watches if each is not None)
        return min([_LOOK * self._interval_s, *left])

    async def _end_in_turn(self, gone: BrokerLife, lives: Lives) -> None:
        """The eldest at once, the next one an interval later, and so on."""
        rank = sum(each.life < self.life.life and each.life != gone.life for each in lives.eldest_first)
        if rank:
            await self._calls.pause(rank * self._interval_s)
            if not (await self._look()).has(gone.life) or not await self._is_silent(gone):
                return
        silent_s = self._watch(gone).silent_s
        with contextlib.suppress(LifeOver):
            await self._calls.run(self._log.commit, end(gone))
        await self._forget(gone)
        facts = {"event": "ended", "broker": gone.broker, "life": gone.life}
        log.warning(
            "broker %d has said nothing for %.1f s, and is ended", gone.broker, silent_s, extra={"facts": facts}
        )

    async def _end_silent(self, lives: Lives) -> None:
        for each in lives.eldest_first:
            if each.life != self.life.life and await self._is_silent(each):
                await self._calls.run(self._log.commit, end(each))
                await self._forget(each)
                facts = {"event": "ended", "broker": each.broker, "life": each.life}
                log.warning("broker %d has fallen silent, and is ended", each.broker, extra={"facts": facts})

    # To look at others

    def others(self, listener: str) -> list[tuple[int, Address]]:
        """Who else lives, and where clients of this listener find it; for a while also who has gone.

        librdkafka loses sight of a partition whose leader changes in the answer that its broker is missing from, and
        waits for ever for a coordinator that was missing from one. So no answer may be without it: the version that
        ends a life tells where it was, to us and to whoever starts later.
        """
        lives = self.metadata.lives
        self._note_gone(lives)
        since = self._clock.boottime() - _GONE_S
        gone = {broker: each for broker, each in lives.gone.items() if self._gone_at[each.life] > since}
        known = {**gone, **lives.by_broker}
        known.pop(self._me.broker, None)
        return [(each.broker, each.listeners[listener]) for each in known.values() if listener in each.listeners]

    def subscribers(self) -> dict[int, str]:
        """Where each broker that lives serves subscriptions; "" if it does not; without those who have not said so."""
        known = self._subscribe if self.subscribe is None else {**self._subscribe, self.life.life: self.subscribe}
        lives = self.metadata.lives.by_broker.values()
        return {each.broker: known[each.life] for each in lives if each.life in known}

    def seen(self) -> list[SeenLife]:
        """All that live, the eldest first, and for how long we have seen each of the others say nothing new."""
        watches = self._watches
        return [
            SeenLife(each, watches[each.life].silent_s if each.life in watches else 0.0)
            for each in self.metadata.lives.eldest_first
        ]

    def _watch(self, life: BrokerLife) -> BeatWatch:
        return self._watches.setdefault(life.life, BeatWatch(self._settings.takeover_ms / 1000, self._interval_s))

    async def _is_silent(self, life: BrokerLife) -> bool:
        """Look at it once."""
        watch = self._watch(life)
        try:
            found = await self._calls.run(read_lease, self._objects, life.broker, life.life)
        except Unavailable:
            watch.missed()
            raise
        watch.saw(None if found is None else found.beat, self._clock.boottime())
        if found is not None and found.subscribe is not None:
            self._subscribe[life.life] = found.subscribe
        return watch.is_silent

    async def _falls_silent(self, life: BrokerLife) -> bool:
        """Wait until it is silent, or has said something."""
        first = await self._calls.run(read_lease, self._objects, life.broker, life.life)
        while not await self._is_silent(life):
            await self._calls.pause(self._interval_s)
            found = await self._calls.run(read_lease, self._objects, life.broker, life.life)
            if found is not None and (first is None or found.beat != first.beat):
                return False
        return True
