"""The rest of the background: retention, silent producers, compaction, garbage in the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from weakref import WeakKeyDictionary

from holdfast.errors import Corrupt, HoldfastError
from holdfast.io.believed_time import read_known, save_known
from holdfast.io.clock import Clock
from holdfast.io.versions import GRACE_S
from holdfast.log.background.compaction import asks_for_soon
from holdfast.log.context import LogContext
from holdfast.log.partition.partition import PartitionLog
from holdfast.segment.garbage import collect_partition, collect_versions
from holdfast.types import PartitionId

log = logging.getLogger(__name__)

_SOON_S = 1.0  # What is to be compacted before the next round is gathered for so long.
_ALL_IS_OLD_S = 3 * GRACE_S  # Where nothing has changed for this long, what was to go is gone.
_STRAYS_MAX = 10_000  # Names that are remembered of one partition; others have to wait for their turn.


class Maintenance:
    """Goes round all partitions from time to time."""

    def __init__(self, ground: LogContext, partitions: Mapping[PartitionId, PartitionLog]) -> None:
        self._ground = ground
        self._partitions = partitions  # Those that are open; the logs' own, which changes.
        self._tasks: list[asyncio.Task[None]] = []
        self._soon: dict[PartitionLog, None] = {}  # To be compacted before the next round.
        self._asked = asyncio.Event()
        self._late: set[str] = set()  # What has failed in its last round.
        self._let_go: WeakKeyDictionary[PartitionLog, int] = WeakKeyDictionary()  # Producers whose end was told.
        self._has_learned = False  # What was known of the time before we started.
        self._strays: dict[PartitionLog, Strays] = {}
        self._waiting: dict[PartitionLog, int] = {}  # Objects to be deleted later.
        self._versions: dict[str, Callable[[], int]] = {}  # Prefixes, and the number of the newest version there.
        self._nothing_left: dict[str, int] = {}  # When it was this number.
        self._quiet_since: dict[PartitionLog, tuple[int, float]] = {}  # The manifest's version, and since when.

    def start(self) -> None:
        settings = self._ground.settings
        self._tasks = [
            asyncio.ensure_future(self._every(settings.retention_check_ms, self.apply_retention)),
            asyncio.ensure_future(self._every(settings.compaction_check_ms, self.compact)),
            asyncio.ensure_future(self._every(settings.garbage_check_ms, self.collect_garbage)),
            asyncio.ensure_future(self._compact_when_asked()),
        ]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _every(self, period_ms: int, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._ground.calls.pause(period_ms / 1000)
            try:
                await work()
            except Exception:  # Whatever it is, the next round must come: nobody else lets anything go.
                log.exception("upkeep has failed, and is tried again")

    async def _each(
        self,
        what: str,
        work: Callable[[PartitionLog], Awaitable[object]],
        partitions: Iterable[PartitionLog] | None = None,
    ) -> None:
        """Do it for every partition; one that fails does not stop the others, and is tried again next time."""
        late: list[tuple[str, Exception]] = []
        for partition in list(self._partitions.values()) if partitions is None else partitions:
            try:
                await work(partition)
            except HoldfastError as failure:
                late += [(partition.home.path, failure)] if partition.is_alive else []
                if isinstance(failure, Corrupt):
                    self._ground.damage.note(partition.home.path, failure)
            except Exception as failure:
                log.exception("%s of %s has failed, and is tried again", what, partition.home.path)
                late.append((partition.home.path, failure))
        if late:
            path, why = late[0]
            self._tell_late(what, f"late for {len(late)} partitions, such as {path}: {why}")
        else:
            self._late.discard(what)

    def _tell_late(self, what: str, how: str) -> None:
        """Once, until it works again: not once a round, nor once a partition."""
        log.log(logging.DEBUG if what in self._late else logging.WARNING, "%s is %s", what, how)
        self._late.add(what)

    async def apply_retention(self) -> None:
        """Let every partition go of what is too old or too much, and forget silent producers."""
        for partition in self._partitions.values():
            partition.producers.expire(partition.running_ms - self._ground.settings.producer_expiry_ms)
            self._tell_let_go(partition)
        try:
            await self._look_at_time()
        except HoldfastError as failure:
            self._tell_late("retention", f"late: {failure}")
            return
        await self._each("retention", PartitionLog.apply_retention)

    async def _look_at_time(self) -> None:
        """How far the clock can be believed. Who has not yet learned what was known before lets nothing go."""
        ground = self._ground
        if not self._has_learned:
            known = await ground.calls.run(read_known, ground.objects)
            if known is not None:
                ground.time.learn(known)
            self._has_learned = True
            await self.save_time()
        ground.time.look()

    async def save_time(self) -> bool:
        """Leave word of the time in the store, and ask for its own; False if it does not say."""
        ground = self._ground
        if not self._has_learned:
            return False  # What is there is worth more than what we have.
        store_ms = await ground.calls.run(save_known, ground.objects, ground.time.known())
        if store_ms is not None:
            ground.time.note_store(store_ms)
        return store_ms is not None

    def _tell_let_go(self, partition: PartitionLog) -> None:
        told, count = self._let_go.get(partition, 0), partition.producers.let_go
        if count == told:
            return
        self._let_go[partition] = count
        log.warning(
            "partition %s has more than %d producers (producer_ids_max): the %d that were silent for longest are "
            "forgotten, and a batch that one of them repeats would be appended twice",
            partition.home.path,
            self._ground.settings.producer_ids_max,
            count - told,
            extra={"facts": {"event": "producers_forgotten", "partition": partition.home.path, "count": count - told}},
        )

    async def compact(self) -> None:
        """Compact keyed topics, and merge small segments."""
        await self._each("compaction", PartitionLog.compact)

    def compact_soon(self, partition: PartitionLog, *, again: bool = False) -> None:
        """It has new segments: if it promises to be compacted before the next round, it is looked at now."""
        if asks_for_soon(partition, again=again):
            self._soon[partition] = None
            self._asked.set()

    async def _compact_when_asked(self) -> None:
        while True:
            await self._asked.wait()
            await self._ground.calls.pause(_SOON_S)
            self._asked.clear()
            try:
                await self.compact_asked()
            except Exception:  # As in `_every`.
                log.exception("upkeep has failed, and is tried again")

    async def compact_asked(self) -> None:
        """Compact those that could not wait. Who is still too young, or not dirty for long enough, is asked again."""
        asked, self._soon = [each for each in self._soon if each.is_alive], {}
        await self._each("compaction", PartitionLog.compact, asked)
        for partition in asked:
            self.compact_soon(partition, again=True)

    @property
    def garbage(self) -> int:
        """Objects that wait to be deleted, when they were last looked for."""
        return sum(self._waiting.values())

    async def collect_garbage(self) -> None:
        """Delete what no manifest needs any more, where anything has changed not long ago."""
        ground = self._ground
        try:
            await self._look_at_time()
            if not await self.save_time():
                return
        except HoldfastError as failure:
            self._tell_late("garbage collection", f"late: {failure}")
            return
        now_ms, now_s = ground.time.now_ms(), ground.clock.boottime()
        there = set(self._partitions.values())
        self._quiet_since = {each: seen for each, seen in self._quiet_since.items() if each in there}
        self._strays = {each: strays for each, strays in self._strays.items() if each in there}
        self._waiting = {each: count for each, count in self._waiting.items() if each in there}

        async def collect(partition: PartitionLog) -> None:
            version = partition.manifest.version
            seen, since_s = self._quiet_since.get(partition, (-1, now_s))
            if seen != version:
                self._quiet_since[partition] = version, now_s
            elif now_s - since_s > _ALL_IS_OLD_S:
                self._strays.pop(partition, None)
                return
            if partition.is_storing:
                return  # What is being put is not listed yet. The next round comes.
            strays = self._strays.setdefault(partition, Strays(ground.clock))
            strays.begin()
            found = await ground.calls.run(
                collect_partition, ground.objects, partition.home, now_ms, may_go=strays.may_go
            )
            self._waiting[partition] = found.waiting
            if not found.waiting and not partition.is_flushing:
                # Nothing is left over: until the next version there is nothing to look for. With thousands of quiet
                # partitions these looks would be most of what is ever asked of the store.
                self._quiet_since[partition] = version, now_s - _ALL_IS_OLD_S - 1
                self._strays.pop(partition, None)

        await self._each("garbage collection", collect)
        await self._collect_versions(now_ms)

    def collect_versions(self, prefix: str, newest: Callable[[], int]) -> None:
        """Old versions under this prefix are garbage as well."""
        self._versions[prefix] = newest

    async def _collect_versions(self, now_ms: int) -> None:
        for prefix, newest in self._versions.items():
            if self._nothing_left.get(prefix) == newest():
                continue
            number = newest()
            try:
                found = await self._ground.calls.run(collect_versions, self._ground.objects, prefix, now_ms)
            except HoldfastError as failure:
                self._tell_late("garbage collection", f"late for {prefix}: {failure}")
                continue
            if not found.waiting:
                self._nothing_left[prefix] = number


class Strays:
    """Segments of one partition that no manifest lists, and since when we know of them.

    A writer lists a segment within half of the grace after it put it, or never. So what we have seen unlisted for all
    of the grace, by our own count of time, nobody will list any more, whatever the clocks of store and machine say.
    """

    def __init__(self, clock: Clock, grace_s: float = GRACE_S) -> None:
        self._clock = clock
        self._grace_s = grace_s
        self._seen: dict[str, float] = {}  # When they were first seen, in the clock's seconds.
        self._now: dict[str, float] = {}  # The same, of those that this round has met.

    def begin(self) -> None:
        """A new round: what is not met in it is gone, or is listed."""
        self._seen, self._now = self._now, {}

    def may_go(self, name: str) -> bool:
        """Whether a segment that is not listed may be deleted. Each is asked for once in a round."""
        now = self._clock.boottime()
        since = self._seen.get(name, now)
        if len(self._now) < _STRAYS_MAX:
            self._now[name] = since
        return now - since >= self._grace_s
