"""The doctor looks at what keeps the data: the disk, its speed and room, the store with its put-if-absent, and whether
a broker that runs here already waits for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import Exists, Objects
from holdfast.operate.doctor.finding import DoctorFinding, advice, missing, ok
from holdfast.operate.status import ask

SYNC_COUNT = 30
SYNC_SIZE = 4096
SYNC_MS_SLOW = 10.0  # An ack waits for one of these.
SYNC_MS_NONE = 0.01  # No disk is as fast as this.
RACERS = 8
FREE_WELL = 10 << 30
_MIB = 1 << 20


def data_directory(path: Path) -> DoctorFinding:
    """Whether a broker could write there. A directory that is not there is looked at from above."""
    there = existing(path)
    if not there.is_dir():
        return missing("data directory", f"{there} is no directory", "choose another one with --data")
    if not os.access(there, os.W_OK | os.X_OK):
        todo = f"let this user write there (chown, chmod), or choose another one with --data; it is user {os.getuid()}"
        return missing("data directory", f"{there} cannot be written", todo)
    try:  # Who is root may everything, but some file systems make nothing for anybody.
        with tempfile.TemporaryDirectory(prefix=".holdfast-doctor-", dir=there):
            pass
    except OSError as failure:
        return missing(
            "data directory", f"nothing can be made in {there}: {failure.strerror}", "choose another one with --data"
        )
    return ok("data directory", str(path) if there == path.absolute() else f"{path} can be made")


def is_served(path: Path) -> bool:
    """Whether a process holds the data directory now: what it says of itself is looked at, the lock is left alone."""
    try:
        os.kill(int(json.loads((path / "LOCK").read_bytes())["pid"]), 0)
    except PermissionError:
        return True  # Somebody else's.
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


def existing(path: Path) -> Path:
    """The path, or what there is of it."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def disk_sync(path: Path, clock: Clock, chance: Chance) -> DoctorFinding:
    """How long the disk takes to make a little durable: every ack waits that long."""
    folder = existing(path)
    name = f".holdfast-doctor-{chance.bits(64):016x}"
    try:
        times = sorted(_sync_times(RealDirectory(folder), name, clock))
    except OSError as failure:
        return missing("disk sync", str(failure), "a broker needs a directory it can write and sync")
    median, worst = statistics.median(times), times[-1]
    found = f"{median:.2f} ms in the middle, {worst:.2f} ms at worst, of {SYNC_COUNT} in {folder}"
    if median > SYNC_MS_SLOW:
        return advice("disk sync", found, "every ack waits that long: choose a faster disk")
    if median < SYNC_MS_NONE:
        return advice("disk sync", found, "too fast to be true: is it a file system in memory, which forgets?")
    return ok("disk sync", found)


def _sync_times(directory: RealDirectory, name: str, clock: Clock) -> list[float]:
    file = directory.open(name, create=True)
    try:
        times = []
        for number in range(SYNC_COUNT):
            file.write_at(number * SYNC_SIZE, [bytes(SYNC_SIZE)])
            began = clock.monotonic()
            file.sync()
            times.append((clock.monotonic() - began) * 1000)
        return times
    finally:
        file.close()
        directory.remove(name)


def free_space(path: Path, needed: int) -> DoctorFinding:
    """Room for the write-ahead log, and for segments where they are on the same disk."""
    free = shutil.disk_usage(existing(path)).free
    found = f"{free // _MIB} MiB free"
    if free < needed:
        todo = "free some space, or choose another disk with --data"
        return missing("free space", f"{found}, and {needed // _MIB} MiB are needed to begin", todo)
    if free < FREE_WELL:
        return advice("free space", found, f"a write-ahead log and its segments like to have {FREE_WELL // _MIB} MiB")
    return ok("free space", found)


def store(objects: Objects, chance: Chance) -> DoctorFinding:
    """Whether the store keeps what is put, and whether of many writers of one name exactly one succeeds."""
    name = f"doctor/{chance.bits(128):032x}"
    try:
        winners = _race(objects, name)
        kept = objects.get(name)
        objects.delete(name)
    except (HoldfastError, OSError) as failure:
        with contextlib.suppress(HoldfastError, OSError):  # What failed first tells why.
            objects.delete(name)
        todo = "check its name, your credentials and the network"
        return missing("store", f"{objects.url}: {failure}", todo)
    if len(winners) != 1 or kept != _content(winners[0]):
        found = f"{objects.url}: of {RACERS} writers of one name {len(winners)} succeeded"
        return missing("store", found, "data would be lost here: choose a store with conditional puts")
    return ok("store", f"{objects.url} keeps what is put, and a name is taken once")


def _race(objects: Objects, name: str) -> list[int]:
    """Who of many was allowed to put the name."""
    together = threading.Barrier(RACERS)

    def put(number: int) -> bool:
        together.wait()
        try:
            objects.put_if_absent(name, [_content(number)])
        except Exists:
            return False
        return True

    with ThreadPoolExecutor(RACERS) as racers:
        return [number for number, won in enumerate(racers.map(put, range(RACERS))) if won]


def _content(number: int) -> bytes:
    return b"written by number %d" % number


def store_waited_for(metrics: str) -> Iterator[DoctorFinding]:
    """Nothing, unless one does: without a broker, or without a wait, there is nothing to say."""
    try:
        found = ask(metrics)
    except HoldfastError:
        return
    if found["waits_for_store"]:
        served = ", ".join(found["served_from_log"]) or "nothing"
        yield advice(
            "running broker",
            f"waits for its store for {found['waited_seconds']} s, and serves {served} from its write-ahead log",
            "bring the store back: the broker goes on by itself",
        )
