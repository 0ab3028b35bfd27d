"""How the logs begin when the write-ahead log is in the store: claim, end the lives before, replay, begin one's own.

1. The next claim is taken: its number is the number of this life, unless a later life is known.
2. The series of all lives before are sealed and read (`log.rounds.takeover`): they acknowledge nothing any more.
3. The first round of our own series is put; then it is looked whether the claim is still the newest. Who claims later
   either finds this series and seals it, or is seen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace

from holdfast.cluster.errors import SpreadAlready
from holdfast.cluster.identity import claim_store
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.io.believed_time import keep_first
from holdfast.io.chance import Chance
from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries
from holdfast.log.context import Environment
from holdfast.log.errors import WrongStore
from holdfast.log.journal import Journal
from holdfast.log.metadata import LIVES_MAX, Identity, Life, LogMetadata, decode
from holdfast.log.ownership.owner import Claim, Here, Owner, claim_with_rounds
from holdfast.log.recovery.begin import LocalLog, OpenedLogs
from holdfast.log.recovery.identify import FIRST_GENERATION, check_new
from holdfast.log.recovery.replay import replay
from holdfast.log.rounds.format import ROUND, RoundHeader, encode_round
from holdfast.log.rounds.layout import kept_of, lay_out
from holdfast.log.rounds.log import Inheritance, RoundsLog
from holdfast.log.rounds.series import Series, SeriesId, all_series
from holdfast.log.rounds.takeover import take_over
from holdfast.log.settings import MIB, JournalSettings, LogSettings

SIZE_MAX = 256 * MIB  # Bytes of rounds that are needed, so that a takeover is short.


def limited(settings: LogSettings) -> LogSettings:
    """With a write-ahead log that is no larger than one that can be taken over in seconds."""
    return replace(settings, wal_size_max=min(settings.wal_size_max, SIZE_MAX))


async def begin_rounds(
    rounds: Objects,
    environment: Environment,
    settings: LogSettings,
    journal_settings: JournalSettings,
    *,
    node_id: int,
    take_over: bool,
    here: Here,
    threaded: bool,
) -> OpenedLogs:
    """Everything up to a journal. `rounds` is the store that they go to."""
    calls, clock = environment.calls, environment.clock
    began = clock.monotonic()
    patience = VersionRetries(clock, environment.chance, calls.block)
    look_s = settings.owner_check_ms / 1000
    cluster = await calls.run(claim_store, environment.objects, f"{environment.chance.bits(128):032x}")
    await calls.run(_check_one_leads, environment.objects, cluster, patience)
    await calls.run(keep_first, environment.objects, settings.clock_trust_ms / 1000, environment.clock)
    owner, before = await calls.run(
        claim_with_rounds, environment.objects, patience, here, take_over=take_over, look_s=look_s
    )
    others = await calls.run(all_series, rounds, patience)
    if before is None and not others:
        await calls.run(check_new, environment.objects, cluster, take_over=take_over)
    # Claims are not in a backup, but rounds are: no series of another life may be taken for ours.
    life = max([owner.claim.number, *(each.id.life + 1 for each in others)])
    series = Series(rounds, SeriesId(life, node_id), patience)
    wal, kept = await calls.run(
        _open, series, others, owner, before, cluster, here, journal_settings, calls.executor, threaded=threaded
    )
    try:
        await calls.run(owner.look)
        replayed = await calls.local(replay, wal, settings.tail_size_max // 2, clock.monotonic(), kept.deleted)
        journal = Journal(wal, kept.identity, owner.incarnation, owner.heir_of)
    except BaseException:
        wal.abandon()
        raise
    took_s, is_first = clock.monotonic() - began, before is None and not others
    local = LocalLog(wal, None, replayed, took_s, is_taken=True, is_clean=wal.is_clean, is_first=is_first)
    return OpenedLogs(local, journal, owner, environment)


def _check_one_leads(objects: Objects, cluster: str, patience: VersionRetries) -> None:
    """Raise SpreadAlready where many lead: nobody may seal the series of all of them. Blocks."""
    if MetadataLog(objects, cluster, "", patience).metadata.leads.is_spread:
        raise SpreadAlready


def _open(
    series: Series,
    others: Sequence[Series],
    owner: Owner,
    before: Claim | None,
    cluster: str,
    here: Here,
    settings: JournalSettings,
    executor: Executor | None,
    *,
    threaded: bool,
) -> tuple[RoundsLog, LogMetadata]:
    """End the lives before, and begin this one. Blocks."""
    left: list[Inheritance] = []
    why = {"by": f"life {series.id.life}, {here.name}"}
    take_over(others, why, lambda each, rounds: left.append(Inheritance(each, rounds)), lambda: None, executor)
    is_clean = not left or (bool(left[-1].rounds) and bool(left[-1].rounds[-1].why.get("clean")))
    kept = _newest_kept(left)
    if kept is None:
        generation = FIRST_GENERATION if before is None else before.generation + 1
        kept = LogMetadata(Identity(cluster, owner.claim.broker, generation), deletes_from=0)
    elif kept.identity.cluster != cluster:
        raise WrongStore(kept.identity.cluster, cluster, series.objects.url)
    elif not is_clean:
        kept = kept.of_generation(kept.identity.generation + 1)
    owner.heir_of = [each.incarnation for each in kept.lives]
    lives = (*kept.lives, Life(owner.incarnation, here.place))[-LIVES_MAX:]
    kept = replace(kept, lives=lives, deletes_from=0)
    put_first(series, kept.encode(), series.patience.chance)
    return RoundsLog(series, kept.encode(), left, settings, is_clean=is_clean, threaded=threaded), kept


def _newest_kept(left: Sequence[Inheritance]) -> LogMetadata | None:
    """What was kept by the last life that came so far as to put a round."""
    rounds = (found for inherited in reversed(left) for found in reversed(inherited.rounds))
    return next((decode(data) for found in rounds if (data := kept_of(found)) is not None), None)


def put_first(series: Series, kept: bytes, chance: Chance) -> None:
    """Begin a series. Raises SeriesEnded if it is sealed already. Blocks."""
    nonce = f"{chance.bits(128):032x}"
    header = RoundHeader(ROUND, series.id.broker, series.id.life, 0, 0, nonce)
    rows, _ = lay_out([], kept)
    series.send(0, encode_round(header, rows), nonce, lambda: range(1))
