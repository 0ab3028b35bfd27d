"""Where a merged read of references spends its time: the client's loop by function, its threads by sampling."""

from __future__ import annotations

import asyncio
import collections
import cProfile
import pstats
import sys
import threading
import time
from pathlib import Path

from benchmarks.subscribe.data import SOURCES, Check
from benchmarks.subscribe.place import a_broker, connector, fill

from holdfast.io.calls import ThreadCalls
from holdfast.io.chance import SystemChance
from holdfast.io.open_objects import open_objects
from holdfast.subscribe.asked import Asked
from holdfast.subscribe.catalogue import Source
from holdfast.subscribe.opening import Start
from holdfast.subscribe.session import Means
from holdfast.subscribe.subscription import READ_AHEAD_SIZE, Subscription

SAMPLE_S = 0.002


def show_profile(directory: Path, events: int) -> int:
    asyncio.run(_profile(directory, events))
    return 0


async def _profile(directory: Path, events: int) -> None:
    objects = open_objects(str(directory / "objects"))
    async with a_broker(directory, objects) as (parts, site):
        await fill(parts, events // len(SOURCES), 1_000)
        for last in (False, True):  # The first time loads and compiles.
            means = Means(
                addresses={"": ""},
                objects={"": objects},
                calls=ThreadCalls(8),
                clock=site.clock,
                max_wait_ms=5,
                read_ahead_size=READ_AHEAD_SIZE,
                connect=connector(site),
            )
            sources = tuple(map(Source, SOURCES))
            asked = Asked(sources=sources, start=Start(0), until_now=True, batches=True, segment_refs=True)
            subscription = Subscription(means, asked, SystemChance(), owns_calls=True)
            profile, samples = cProfile.Profile(), Samples()
            check, started = Check(), time.perf_counter()
            if last:
                samples.start()
                profile.enable()
            async for batch in subscription.batches():
                check.batch(batch.batch)
            profile.disable()
            samples.stop()
        print(f"{check.count:,} events in {time.perf_counter() - started:.2f} s")
    pstats.Stats(profile).sort_stats("tottime").print_stats(15)
    samples.show()


class Samples:
    """What the threads are at, looked at from time to time."""

    def __init__(self) -> None:
        self._found: collections.Counter[str] = collections.Counter()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            for frame in list(sys._current_frames().values()):
                code = frame.f_code
                self._found[f"{Path(code.co_filename).name}:{code.co_name}"] += 1

    def stop(self) -> None:
        self._stop.set()

    def show(self) -> None:
        for place, count in self._found.most_common(20):
            print(f"{count:7,}  {place}")
