"""How the logs of one of several lives begin: with a series of its own, and nothing else.

No tail is brought back: what a life that is over has left is settled before its partitions are given to anybody
(`log.recovery.settle`).
"""

from __future__ import annotations

from holdfast.cluster.identity import read_cluster
from holdfast.io.believed_time import keep_first
from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries
from holdfast.log.context import Environment
from holdfast.log.journal import Journal
from holdfast.log.metadata import Identity, LogMetadata
from holdfast.log.ownership.life_seat import LifeOwner, LifeSeat
from holdfast.log.recovery.begin import LocalLog, OpenedLogs
from holdfast.log.recovery.begin_rounds import put_first
from holdfast.log.recovery.replay import ReplayedTails
from holdfast.log.rounds.log import RoundsLog
from holdfast.log.rounds.series import Series, SeriesId
from holdfast.log.settings import JournalSettings, LogSettings


async def begin_life(
    rounds: Objects,
    environment: Environment,
    settings: LogSettings,
    journal_settings: JournalSettings,
    seat: LifeSeat,
    *,
    threaded: bool,
) -> OpenedLogs:
    """Everything up to a journal. Raises SeriesEnded if others have ended the life before it began to write."""
    calls, clock = environment.calls, environment.clock
    began = clock.monotonic()
    patience = VersionRetries(clock, environment.chance, calls.block)
    cluster = await calls.run(read_cluster, environment.objects)
    await calls.run(keep_first, environment.objects, settings.clock_trust_ms / 1000, environment.clock)
    owner = LifeOwner(seat, clock.now_ms())
    series = Series(rounds, SeriesId(seat.life, seat.broker), patience)
    kept = LogMetadata(Identity(cluster, owner.incarnation, 0), deletes_from=0)
    await calls.run(put_first, series, kept.encode(), environment.chance)
    wal = RoundsLog(series, kept.encode(), [], journal_settings, is_clean=True, threaded=threaded)
    journal = Journal(wal, kept.identity, owner.incarnation)
    local = LocalLog(wal, None, ReplayedTails(), clock.monotonic() - began, is_taken=True, is_first=True)
    return OpenedLogs(local, journal, owner, environment)
