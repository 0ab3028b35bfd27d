"""A broker that leads some partitions of a cluster, put together; and what it does beside answering requests.

follow      the metadata: partitions that are ours are opened, others dropped, and so are coordinators
care        lives that are over are settled, and their partitions given to those who live
carry out   wishes: partitions of ours that somebody else should lead are handed over; all, if we are to leave
balance     the eldest wishes for moves to whoever leads least
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from holdfast.broker.coordinators import ProducerIdBlocks
from holdfast.broker.draining import tell_left, within
from holdfast.broker.guard.users import Users
from holdfast.broker.peers.door import PeerDoor
from holdfast.broker.peers.link import TcpLink
from holdfast.broker.peers.peers import Peers
from holdfast.broker.peers.pokes import Pokes
from holdfast.broker.peers.reach import Reach
from holdfast.broker.running import FAILED_CLOSE_MS, AllSettings, BrokerEnvironment, Opened, assemble, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.broker.shared_topics import SharedTopics
from holdfast.broker.topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from holdfast.cluster.auth_log import PREFIX as AUTH_PREFIX
from holdfast.cluster.auth_log import AuthLog
from holdfast.cluster.errors import LifeOver, SpreadAlready, SpreadTooEarly
from holdfast.cluster.identity import claim_store
from holdfast.cluster.leads import assign, balance, spread, wish
from holdfast.cluster.lives import BrokerLife, leave
from holdfast.cluster.member import LifeEnded
from holdfast.cluster.metadata import Metadata
from holdfast.cluster.metadata_log import PREFIX, MetadataLog
from holdfast.cluster.secret import cluster_secret
from holdfast.coordinator.share.spread import copy_among_groups
from holdfast.coordinator.transaction.producer_ids import ProducerIds
from holdfast.errors import HoldfastError, Rejected, Unavailable
from holdfast.io.calls import BlockingCalls, ThreadCalls
from holdfast.io.objects.off_loop import OffLoopObjects
from holdfast.io.objects.put_check import check_put_if_absent
from holdfast.io.versions import VersionRetries
from holdfast.log.context import Environment
from holdfast.log.logs import Logs
from holdfast.log.ownership.leadership import Leadership, LedStore
from holdfast.log.ownership.leftovers import Leftovers
from holdfast.log.ownership.life_seat import LifeSeat
from holdfast.log.ownership.owner import Here
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.recovery.begin_rounds import limited
from holdfast.log.rounds.series import all_series, every_series
from holdfast.protocol.codes import Code
from holdfast.security.protocol import SecurityProtocol
from holdfast.types import PartitionId

log = logging.getLogger(__name__)

_TURN_S = 0.1  # So often it is looked whether anything has changed here.
_ASKED_S = 0.3  # After clients had to be sent away, the metadata is looked at, at most so often.
_CARE_S = 1.0
_NEXT_CARES_S = 5.0  # Who is not the eldest leaves it so long to those who are older: all would do the same work.
_BALANCE_S = 3.0
_REACH_S = 5.0
_LEFTOVERS_AGAIN_S = 60.0  # After they could not be looked for.
_MOVES_MAX = 16
_SENT_AWAY = (Code.NOT_LEADER_OR_FOLLOWER, Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID, Code.NOT_COORDINATOR)


class OpenedLife(NamedTuple):
    """A broker without its sockets, and its part in the cluster."""

    broker: Opened
    leading: Leading
    metadata: MetadataLog  # Whoever looks at it looks for all.
    door: PeerDoor  # Where other brokers come in.


@asynccontextmanager
async def opened_life(around: BrokerEnvironment, settings: AllSettings, life: BrokerLife) -> AsyncIterator[OpenedLife]:
    """Everything but the sockets. Closed on the way out."""
    close_ms: int | None = FAILED_CLOSE_MS
    is_cut_off = False
    heavy = ThreadCalls(1)
    calls, broker = around.calls, settings.broker
    objects = OffLoopObjects(around.objects)
    patience = VersionRetries(around.clock, around.chance, calls.block)
    if settings.check_store:
        await calls.run(check_put_if_absent, objects)
    cluster = await calls.run(claim_store, objects, f"{around.chance.bits(128):032x}")
    metadata = await calls.run(MetadataLog, objects, cluster, f"life-{life.life}", patience, life.incarnation)

    def look() -> None:
        if not metadata.refresh().lives.has(life.life):
            raise LifeEnded(life.broker, life.life)

    seat = LifeSeat(life.broker, life.life, look, around.here or Here())
    environment = Environment(objects, calls, around.clock, around.chance)
    rounds = OffLoopObjects(around.rounds) if around.rounds else objects
    leadership = Leadership(metadata, seat, LedStore(environment, rounds, limited(settings.log)))
    leftovers = Leftovers(environment, life.life, metadata.check_not_set_back)
    logs = await Logs.open(
        around.wal_directory,
        around.objects,
        settings.log,
        wal_settings=settings.wal,
        clock=around.clock,
        chance=around.chance,
        calls=calls,
        resume_deletes=False,
        rounds=around.rounds,
        seat=seat,
    )
    try:
        logs.collect_versions(PREFIX, lambda: metadata.metadata.version)
        auth = await calls.run(AuthLog, objects, cluster, f"life-{life.life}", patience, life.incarnation)
        logs.collect_versions(AUTH_PREFIX, lambda: auth.value.version)
        users = Users(auth, calls, broker.rules_of)
        producer_ids = ProducerIds(ProducerIdBlocks(metadata, calls))
        logs.producer_ids.end = lambda: metadata.metadata.producer_ids_end
        limits = broker.max_metadata_bytes, broker.max_partitions
        defaults = broker.topic_defaults()
        topics = SharedTopics(
            metadata,
            logs,
            calls,
            around.chance,
            defaults,
            *limits,
            node_id=broker.node_id,
            leadership=leadership,
            life=life.life,
        )
        await topics.open()
        secret = await calls.run(cluster_secret, objects, around.chance)
        async with AsyncExitStack() as stack:
            link = TcpLink(_protocols(broker, life))
            stack.callback(link.close)
            peers = Peers(life.life, secret, link, lambda: metadata.metadata.version)
            stack.callback(peers.close)
            found = await assemble(stack, around, broker, logs, topics, users, producer_ids, heavy, peers)
            leading = Leading(found, topics, metadata, leadership, leftovers, life, calls, link, peers)
            leading.start()
            try:
                door = PeerDoor(found.broker, life.life, secret)
                door.heard = leading.hear
                yield OpenedLife(found, leading, metadata, door)
            finally:
                await leading.end()
                is_cut_off = leading.is_cut_off
            close_ms = FAILED_CLOSE_MS if is_cut_off else None
    finally:
        heavy.close()
        await logs.close(close_ms, is_cut_off=is_cut_off)


def _protocols(settings: BrokerSettings, life: BrokerLife) -> dict[str, SecurityProtocol]:
    """How our own listeners are protected, in their order."""
    known = {each.name: each.protocol for each in settings.parsed_listeners()}
    return {name: known.get(name, SecurityProtocol.PLAINTEXT) for name in life.listeners}


class Leading:
    """Belongs to one event loop."""

    def __init__(
        self,
        found: Opened,
        topics: SharedTopics,
        metadata: MetadataLog,
        leadership: Leadership,
        leftovers: Leftovers,
        life: BrokerLife,
        calls: BlockingCalls,
        link: TcpLink,
        peers: Peers,
    ) -> None:
        self._broker = found.broker
        self._groups = found.context.groups
        self._transactions = found.context.transactions
        self._shares = found.context.shares
        self._led = found.context.led
        self._link = link
        self._reach = Reach(peers)
        self._pokes = Pokes(peers)
        self._heard = -1  # The newest version of the metadata that others have spoken of.
        self._topics = topics
        self._metadata = metadata
        self._leadership = leadership
        self._leftovers = leftovers
        self._life = life
        self._calls = calls
        self._clock = found.context.clock
        self._moved = asyncio.Event()  # Partitions have come or gone: groups,
        self._moved_too = asyncio.Event()  # transactions,
        self._moved_shares = asyncio.Event()  # and share groups, may be others' now.
        self._has_dropped = False  # A topic is gone, and groups may have offsets of it.
        self._tasks: list[asyncio.Future[None]] = []
        self._logs = found.context.logs
        self.is_cut_off = False  # We stop, and the store does not answer: nobody waits for it.
        self.is_heard: Callable[[], bool] = lambda: True  # Whether the store takes our word that we live.
        leadership.on_commit = lambda: self._pokes.send(self._others())
        topics.on_moved = self._note_moved
        topics.on_dropped = self._note_dropped

    def start(self) -> None:
        follow = self._follow_on, self._follow_groups_on, self._follow_shares_on, self._follow_transactions_on
        work = *follow, self._care_on, self._look_on, self._carry_out_on, self._balance_on, self._reach_on
        self._tasks = [asyncio.ensure_future(each()) for each in work]
        self._note_moved()  # While coordinators were opened, partitions may have come.

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def end(self) -> None:
        """Nobody is told anything any more, either."""
        await self.stop()
        self._pokes.close()

    def hear(self, version: int) -> None:
        """Another broker knows this version of the metadata."""
        self._heard = max(self._heard, version)

    def _others(self) -> list[BrokerLife]:
        return [each for each in self._metadata.metadata.lives.eldest_first if each.life != self._life.life]

    def _note_dropped(self) -> None:
        self._has_dropped = True
        self._note_moved()

    def _note_moved(self) -> None:
        for each in (self._moved, self._moved_too, self._moved_shares):
            each.set()

    async def _tried(self, what: str, work: Coroutine[Any, Any, Any]) -> bool:
        """Whatever goes wrong is tried again with the next turn; whether nothing did."""
        try:
            await work
        except LifeOver:
            return True  # Whoever looks after our life hears of it.
        except HoldfastError as failure:
            log.warning("%s: tried again: %s", what, failure)
        except Exception:
            log.exception("%s: tried again", what)
        else:
            return True
        return False

    # Following

    async def _follow_on(self) -> None:
        seen, asked, looked_at, followed_at = -2, 0, 0.0, 0.0
        while True:
            now, sent = self._clock.monotonic(), self._sent_away()
            is_behind = self._heard > self._metadata.metadata.version
            if (sent != asked or is_behind) and now - looked_at > (_TURN_S if is_behind else _ASKED_S):
                asked, looked_at = sent, now
                await self._tried("the metadata is looked at", self._calls.run(self._metadata.refresh))
                self._heard = -1  # What is not there now was spoken of in error.
            version = self._metadata.metadata.version
            if version != seen or (self._topics.is_late and now - followed_at > _CARE_S):
                seen, followed_at = version, now
                await self._tried("the metadata is followed", self._topics.follow())
            await self._calls.pause(_TURN_S)

    def _sent_away(self) -> int:
        """How often clients were told to ask elsewhere: we may be the ones who do not know."""
        return sum(count for (_, code), count in self._broker.errors.items() if code in _SENT_AWAY)

    async def _follow_groups_on(self) -> None:
        while True:
            await self._moved.wait()
            self._moved.clear()
            if not await self._tried("groups are followed", self._follow_groups()):
                await self._calls.pause(_CARE_S)
                self._moved.set()

    async def _follow_shares_on(self) -> None:
        while True:
            await self._moved_shares.wait()
            self._moved_shares.clear()
            if not await self._tried("share groups are followed", self._follow_shares()):
                await self._calls.pause(_CARE_S)
                self._moved_shares.set()

    async def _follow_shares(self) -> None:
        if self._led is not None:
            self._led.sweep()
        await self._shares.follow(self._topics.get(OFFSETS_TOPIC).logs)
        if any(self._topics.find_id(each) is None for each in self._shares.topic_ids()):
            await self._topics.refresh()  # Topics may be there that we do not know yet.
            self._shares.forget_topics(lambda topic_id: self._topics.find_id(topic_id) is None)

    async def _follow_transactions_on(self) -> None:
        while True:
            await self._moved_too.wait()
            self._moved_too.clear()
            self._link.keep({each.life for each in self._metadata.metadata.lives.by_broker.values()})
            logs = self._topics.get(TRANSACTIONS_TOPIC).logs
            if not await self._tried("transactions are followed", self._transactions.follow(logs)):
                await self._calls.pause(_CARE_S)
                self._moved_too.set()

    async def _follow_groups(self) -> None:
        if await self._groups.follow(self._topics.get(OFFSETS_TOPIC).logs):
            self._has_dropped = True  # While nobody led them, topics may have gone.
            await self._topics.refresh()  # Who commits offsets of a topic has to wait until it is known here.
        if self._has_dropped:
            await self._groups.offsets.forget_topics(lambda name: self._topics.find(name) is None)
            self._has_dropped = False

    # Who can be reached

    @property
    def unreachable(self) -> frozenset[int]:
        """Brokers that did not answer when they were last asked."""
        return self._reach.unreachable

    async def _reach_on(self) -> None:
        while True:
            await self._calls.pause(_REACH_S)
            await self._tried("others are asked whether they can be reached", self._reach.look(self._others()))

    # What others have left

    async def _care_on(self) -> None:
        seen, cared_at = -2, 0.0
        while True:
            await self._calls.pause(_TURN_S)
            version, now = self._metadata.metadata.version, self._clock.monotonic()
            if version != seen or now - cared_at > _CARE_S:
                seen, cared_at = version, now
                await self._tried("lives that are over are settled", self._care())

    async def _care(self) -> None:
        metadata = self._metadata.metadata
        if not metadata.lives.over and not self._leadership.unled(metadata):
            return
        rank = sum(each.life < self._life.life for each in metadata.lives.eldest_first)
        if rank and self._life.broker not in metadata.lives.over.values():  # What we left ourselves we settle at once.
            await self._calls.pause(rank * _NEXT_CARES_S)
        count = await self._leadership.care()
        if count:
            await self._topics.follow()

    async def _look_on(self) -> None:
        what = "what is left of deleted topics is looked for"
        while True:
            await self._calls.pause(_CARE_S)
            if not await self._tried(what, self._leftovers.look(self._metadata.metadata)):
                await self._calls.pause(_LEFTOVERS_AGAIN_S)

    # Moves

    async def _carry_out_on(self) -> None:
        while True:
            await self._calls.pause(_CARE_S)
            await self._tried("partitions are handed over", self._carry_out())

    async def _carry_out(self) -> None:
        metadata = self._metadata.metadata
        leads, lives = metadata.leads, metadata.lives
        if self._life.life in lives.leaving:  # An operator wants it, and may stop this broker then.
            await self._give_all(metadata)
            return
        due = [
            (home, lives.by_broker[broker].life)
            for home, broker in leads.wishes.items()
            if leads.of(home).life == self._life.life
            and broker != self._life.broker
            and broker in {each.broker for each in lives.staying}
        ]
        await asyncio.gather(*(self._topics.hand_over(*each) for each in due[:_MOVES_MAX]))

    async def _balance_on(self) -> None:
        while True:
            await self._calls.pause(_BALANCE_S)
            await self._tried("partitions are balanced", self._balance())

    async def _balance(self) -> None:
        metadata = self._metadata.metadata
        lives, leads = metadata.lives, metadata.leads
        if not lives.eldest_first or lives.eldest_first[0].life != self._life.life or lives.over or leads.wishes:
            return
        wishes = balance(leads, lives, _MOVES_MAX)
        if wishes:
            await self._leadership.commit(wish(wishes))
            log.info("%d partitions are to move to brokers that lead less", len(wishes))

    async def drain(self, seconds: float) -> None:
        """Give all that we lead to others, as far as time and the store allow: what is left is settled by them."""
        self.is_cut_off = not self.is_heard()
        if not seconds:
            return
        await self.stop()
        failure = await within(self._drain(), seconds, self.is_heard, self._clock)
        if failure is not None:
            self.is_cut_off = isinstance(failure, Unavailable)
            tell_left(failure, self._logs.partitions)

    async def _drain(self) -> None:
        await self._give_all(await self._leadership.commit(leave(self._life.broker, self._life.life)))

    async def _give_all(self, metadata: Metadata) -> None:
        """Hand over all that we lead, some at a time."""
        others = metadata.lives.ended(self._life.broker, self._life.life)
        mine = [each.home for each in self._open()]
        if not others.by_broker or not mine:
            return
        turns = asyncio.Semaphore(_MOVES_MAX)

        async def hand_over(home: PartitionId, to: int) -> None:
            async with turns:
                await self._topics.hand_over(home, to)

        gives = assign(mine, metadata.leads, others)
        await asyncio.gather(*(hand_over(each.home, each.to) for each in gives))
        given = len(mine) - len(self._open())  # What could not be flushed stays ours.
        log.info("%d partitions were handed over", given, extra={"facts": {"event": "drained"}})

    def _open(self) -> list[PartitionLog]:
        return [log for each in self._topics.all() for log in each.logs if isinstance(log, PartitionLog)]


async def spread_store(around: BrokerEnvironment, settings: AllSettings) -> None:
    """Let each partition have its own leader from here on; nothing, if that is so already.

    What one leader left in rounds is flushed first, by a broker that leads everything once more. Nobody may live there.
    """
    calls, objects = around.calls, OffLoopObjects(around.objects)
    rounds = OffLoopObjects(around.rounds) if around.rounds else objects
    patience = VersionRetries(around.clock, around.chance, calls.block)
    cluster = await calls.run(claim_store, objects, f"{around.chance.bits(128):032x}")
    metadata = await calls.run(MetadataLog, objects, cluster, "", patience)
    if metadata.metadata.leads.is_spread:
        return
    if metadata.metadata.lives.by_broker:
        raise SpreadTooEarly([each.name for each in metadata.metadata.lives.eldest_first])
    floor = -1
    if metadata.metadata.version >= 0:
        floor = await _settle_all(around, settings)
    number = max((each.id.life for each in await calls.run(every_series, rounds)), default=0)
    with contextlib.suppress(SpreadAlready):
        await calls.run(metadata.refresh)
        await calls.run(metadata.commit, spread(number, floor))
    for each in await calls.run(all_series, rounds, patience):
        if each.id.life <= number:
            await calls.run(each.forget)
    log.info("each partition has a leader of its own from here on", extra={"facts": {"event": "spread"}})


async def _settle_all(around: BrokerEnvironment, settings: AllSettings) -> int:
    """Flush everything that one leader has left; no partition had a higher epoch than this."""
    async with opened(replace(around, calls=ThreadCalls()), settings) as found:
        logs = found.context.logs
        still_open = sum(each.transactions.open_count for each in logs.partitions)
        if still_open:
            raise Rejected(
                f"{still_open} transactions are open: wait with cluster.leaders=one until they end, or abort them"
            )
        groups = found.context.topics.get(OFFSETS_TOPIC).logs
        await copy_among_groups(found.context.shares, groups, around.clock.now_ms())
        await logs.flush_all()
        if not logs.is_flushed:
            raise Unavailable("not everything could be flushed: see why with cluster.leaders=one, then try again")
        return logs.identity.generation
