"""Opens a partition that has many segments. The manifests are made by the real code; the segments are only listed."""

from __future__ import annotations

import asyncio
import time

from benchmarks.log.partition import HOME
from benchmarks.workload import Arguments, Report

from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import Objects
from holdfast.io.objects.counting import CountingObjects
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.versions import VersionRetries
from holdfast.log.journal import Identity
from holdfast.log.logs import Logs
from holdfast.segment.manifest.changes import Append
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.log import ManifestLog
from holdfast.segment.names import new_tag, segment_name
from holdfast.types import Epoch, Offset

_RECORDS = 65_536  # Of a segment.
_COMMITS = 100  # The last ones: behind a full list there are some that only say what changed.


def open_partition(arguments: Arguments) -> Report:
    """Open it, and again, each time with everything else open already."""
    return asyncio.run(_open(arguments))


async def _open(arguments: Arguments) -> Report:
    directory = arguments.text("dir")
    objects = CountingObjects(LocalObjects(f"{directory}/objects"))
    logs = await Logs.open(RealDirectory(f"{directory}/wal"), objects)
    identity = logs.identity
    await logs.close()
    _make_manifests(objects, identity, arguments.number("size"))
    report = Report()
    for _ in range(arguments.number("turns")):
        arguments.await_turn()
        for _ in range(arguments.number("opens")):
            logs = await Logs.open(RealDirectory(f"{directory}/wal"), objects)
            before = objects.counts
            start = time.perf_counter()
            partition = await logs.partition(HOME)
            report.add(1, start)
            assert len(partition.manifest.segments) == arguments.number("size")
            report.facts = {
                "requests": objects.counts.requests - before.requests,
                "bytes_got": objects.counts.bytes_got - before.bytes_got,
            }
            await logs.close()
    return report


def _make_manifests(objects: Objects, identity: Identity, count: int) -> None:
    clock, chance = SystemClock(), SystemChance()
    manifests = ManifestLog.open(
        objects,
        HOME,
        cluster_id=identity.cluster,
        writer=identity.broker,
        patience=VersionRetries(clock, chance, time.sleep),
        first_epoch=Epoch(identity.generation),
    )
    infos = [_info(number, new_tag(chance)) for number in range(count)]
    at_once = max(count - _COMMITS, 1)
    for part in (infos[:at_once], *([info] for info in infos[at_once:])):
        manifests.commit(Append(tuple(part), part[-1].end, {}, clock.monotonic()))


def _info(number: int, tag: str) -> SegmentInfo:
    base, end = Offset(number * _RECORDS), Offset((number + 1) * _RECORDS)
    name = segment_name(HOME, base, end, Epoch(1), tag)
    return SegmentInfo(name, base, end, 64 << 20, 40_000, 1_700_000_000_000 + base, 1_700_000_000_000 + end, _RECORDS)
