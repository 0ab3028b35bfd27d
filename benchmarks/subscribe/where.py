"""Where a merged read of references spends its time: the client's loop by function, all its threads by sampling."""

from __future__ import annotations

import asyncio
import collections
import cProfile
import pstats
import sys
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.subscribe.data import SOURCES, Check
from benchmarks.subscribe.place import a_broker, client, fill

from holdfast.io.objects import Objects
from holdfast.io.objects.open import open_objects
from holdfast.subscribe.server.context import ServerContext

SAMPLE_S = 0.002
SHOWN = 15
_WAITS = ("select", "wait", "_wait", "_worker", "_run", "accept", "result")  # Functions in which a thread only waits.


def show_profile(directory: Path, events: int) -> int:
    """By function of the loop, and by samples of all threads."""
    profile = cProfile.Profile()
    _, samples = asyncio.run(_read(directory, events, profile))
    pstats.Stats(profile).sort_stats("tottime").print_stats(SHOWN)
    for place, share in samples.shares():
        print(f"{share:5.1f} %  {place}")
    return 0


def measure(directory: Path, events: int) -> list[dict[str, Any]]:
    """The places with the most samples, as measurements; without the function profiler, which costs time itself."""
    seconds, samples = asyncio.run(_read(directory, events, None))
    row = {"round": 0, "size": 0, "entries": events // len(SOURCES) * len(SOURCES), "seconds": seconds}
    return [{**row, "label": f"profile.{place}", "share_percent": share} for place, share in samples.shares()]


async def _read(directory: Path, events: int, profile: cProfile.Profile | None) -> tuple[float, Samples]:
    objects = open_objects(str(directory / "objects"))
    async with a_broker(directory, objects) as (context, site):
        await fill(context, events // len(SOURCES), 1_000)
        await _read_all(site, objects)  # The first time loads and compiles.
        samples = Samples()
        samples.start()
        if profile:
            profile.enable()
        started = time.perf_counter()
        await _read_all(site, objects)
        seconds = time.perf_counter() - started
        if profile:
            profile.disable()
        samples.stop()
    return seconds, samples


async def _read_all(site: ServerContext, objects: Objects) -> None:
    check = Check()
    async for batch in client(site, objects).batches():
        check.batch(batch.batch)


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
                if code.co_name not in _WAITS:
                    self._found[f"{'/'.join(Path(code.co_filename).parts[-2:])}: {code.co_name}"] += 1

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def shares(self) -> list[tuple[str, float]]:
        """Percent of all samples of threads that were not waiting, the most first."""
        total = max(self._found.total(), 1)
        return [(place, 100 * count / total) for place, count in self._found.most_common(SHOWN)]
