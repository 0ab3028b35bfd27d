"""How the logs begin: the write-ahead log is opened and replayed, then held against the store."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from holdfast.io.believed_time import keep_first
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.io.disk import Directory
from holdfast.io.objects.reserved import ReservedObjects
from holdfast.io.versions import VersionRetries
from holdfast.log.context import Environment
from holdfast.log.errors import WalLimitTooLow
from holdfast.log.journal import EntryLog, Journal
from holdfast.log.metadata import read_kept
from holdfast.log.ownership.life_seat import LifeOwner
from holdfast.log.ownership.owner import Here, Owner, become_owner
from holdfast.log.pressure.space import Space
from holdfast.log.recovery.identify import begin_generation, identify
from holdfast.log.recovery.replay import ReplayedTails, replay
from holdfast.log.settings import LogSettings
from holdfast.wal import Wal, WalSettings
from holdfast.wal.commit.writer import OnFull, give_up_when_full

log = logging.getLogger(__name__)


@dataclass(slots=True)
class LocalLog:
    """What the disk alone brings back."""

    wal: EntryLog
    space: Space | None
    replayed: ReplayedTails
    seconds: float = 0.0  # How long that took.
    is_heard: bool = False  # The store has answered. Whoever owned it may be given some seconds to stop.
    is_taken: bool = False  # The logs go on with it, and close it.
    is_clean: bool = True  # The last process that had taken it has closed it.
    is_first: bool = False  # There was none.

    def close(self) -> None:
        """Let go of everything; only for who does not go on."""
        if self.space is not None:
            self.space.close()
        self.wal.close()


@dataclass(frozen=True, slots=True)
class OpenedLogs:
    """What the logs go on from."""

    local: LocalLog
    journal: Journal
    owner: Owner | LifeOwner
    environment: Environment  # With a store that may use the disk's reserve, if there is one.


async def open_local(
    directory: Directory,
    environment: Environment,
    settings: LogSettings,
    wal_settings: WalSettings,
    *,
    threaded: bool,
    reserve_size: int,
) -> LocalLog:
    """Open the write-ahead log in a directory, and sort what it brings back."""
    if settings.wal_size_max < 2 * wal_settings.chunk_size_max:
        raise WalLimitTooLow(settings.wal_size_max, 2 * wal_settings.chunk_size_max)
    calls, clock, chance = environment.calls, environment.clock, environment.chance
    began = clock.monotonic()
    space = Space(directory, reserve_size, calls, clock) if reserve_size else None
    wal = await calls.local(
        _open,
        directory,
        # The tails are in memory here: a second copy in the write-ahead log's own cache would serve nobody.
        replace(wal_settings, cache_size_max=0, cache_entries_max=0, cache_open_chunk=False),
        clock,
        chance,
        space.make_room if space else give_up_when_full,
        threaded=threaded,
    )
    local = LocalLog(wal, space, ReplayedTails())
    try:
        if space is not None:
            await space.begin(waits=threaded)
        kept = read_kept(wal)
        local.is_first = kept is None
        local.is_clean = kept is None or not kept.unclean
        deleted = kept.deleted if kept is not None else ()
        local.replayed = await calls.local(replay, wal, settings.tail_size_max // 2, clock.monotonic(), deleted)
        local.seconds = clock.monotonic() - began
    except BaseException:
        local.close()
        raise
    return local


async def begin(
    local: LocalLog, environment: Environment, settings: LogSettings, *, take_over: bool, here: Here
) -> OpenedLogs:
    """Hold what the disk has brought back against the store. If that fails, nothing has happened to it."""
    calls, wal = environment.calls, local.wal
    if local.space is not None:
        environment = environment._replace(objects=ReservedObjects(environment.objects, local.space))
    identity = await calls.run(identify, wal, environment.objects, environment.chance, take_over=take_over)
    await calls.run(keep_first, environment.objects, settings.clock_trust_ms / 1000, environment.clock)
    local.is_heard = True
    patience = VersionRetries(environment.clock, environment.chance, calls.block)
    look_s = settings.owner_check_ms / 1000
    owner = await calls.run(become_owner, wal, environment.objects, patience, here, take_over=take_over, look_s=look_s)
    journal = Journal(wal, identity, owner.incarnation, owner.heir_of)
    local.is_taken = True  # From here on its tails move, and only the logs may read them.
    return OpenedLogs(local, journal, owner, environment)


def _open(
    directory: Directory, settings: WalSettings, clock: Clock, chance: Chance, on_full: OnFull, *, threaded: bool
) -> Wal:
    """The log, in a generation of its own if it was not closed: between the two nobody can break off a start."""
    wal = Wal.open(directory, settings, clock=clock, chance=chance, threaded=threaded, on_full=on_full)
    try:
        begin_generation(wal)
    except BaseException:
        wal.close()
        raise
    return wal


def _after(local: LocalLog) -> str:
    if local.is_first:
        return "at the first start of this log"
    return "after a clean stop" if local.is_clean else "after an unclean stop"


def tell_recovered(local: LocalLog, partitions: int) -> None:
    """Write into the broker's log what came back, and how fast."""
    wal, seconds = local.wal, local.seconds
    facts = {
        "event": "recovered",
        "first": local.is_first,
        "clean": local.is_clean,
        "entries": wal.state.next_index - wal.state.first_index,
        "wal_size": wal.on_disk_size(),
        "partitions": partitions,
        "seconds": round(seconds, 3),
    }
    log.info(
        "recovered: %d entries of %d partitions are in the write-ahead log, %d bytes in %.3f s, %s",
        facts["entries"],
        facts["partitions"],
        facts["wal_size"],
        seconds,
        _after(local),
        extra={"facts": facts},
    )
