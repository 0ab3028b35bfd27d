"""What is measured: a broker with thousands of partitions, idle and loaded, and recovery beside ten times the data."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.operate.load import create
from benchmarks.operate.process import Measured
from benchmarks.operate.sustained import sustained

MIB = 1 << 20
FASTER = 10  # So many times as often as usual upkeep runs while its requests are counted.
QUICK_UPKEEP = (
    f"log.retention_check_ms={60_000 // FASTER}",
    f"log.compaction_check_ms={60_000 // FASTER}",
    f"log.garbage_check_ms={600_000 // FASTER}",
)
KEEP_TAILS = (f"log.tail_size_max={8192 * MIB}", "log.flush_age_ms_max=3600000", f"log.wal_size_max={16384 * MIB}")
RECOVERY_PARTITIONS = 64


@dataclass(frozen=True)
class Scale:
    """How much, and how long."""

    partitions: int
    idle_s: float
    loaded_size: int
    wal_size: int
    stored_size: int  # And ten times that.
    sustained_s: float
    sustained_wal_size: int
    rounds: int = 1


FULL = Scale(2000, 30.0, 512 * MIB, 1024 * MIB, 256 * MIB, 600.0, 512 * MIB)
QUICK = Scale(200, 5.0, 32 * MIB, 64 * MIB, 16 * MIB, 20.0, 256 * MIB)

Figures = dict[str, object]
Tell = Callable[[str], None]


def many_partitions(directory: Path, scale: Scale, tell: Tell) -> list[Figures]:
    """Idle, loaded, and started again."""
    data = fresh_folder(directory / "partitions")
    measured = Measured(data)
    empty_s = measured.start()
    empty_mib = measured.memory_mib()
    tell(f"making a topic with {scale.partitions} partitions")
    made_s = create(measured.broker.bootstrap, "many", scale.partitions)
    idle = _idle(measured, scale)
    idle |= {
        "what": "idle, never written to",
        "make_topic_s": made_s,
        "start_s": empty_s,
        "empty_memory_mib": empty_mib,
    }
    tell("writing to all of them")
    loaded = _loaded(measured, scale)
    measured.broker.stop(600)
    start_s = measured.start()
    idle_again = _idle(measured, scale) | {"what": "idle, started again with data", "start_s": start_s}
    measured.broker.kill()
    killed = {"what": "started again after kill -9", "start_s": measured.start()}
    measured.broker.stop(600)
    tell("counting store requests")
    counted = _requests(data, scale)
    return [idle, loaded, idle_again, killed, counted]


def _idle(measured: Measured, scale: Scale) -> Figures:
    requests, cpu = measured.store_requests(), measured.cpu_seconds()
    time.sleep(scale.idle_s)
    used = measured.cpu_seconds() - cpu
    return {
        "cpu_s_per_minute": used * 60 / scale.idle_s,
        "memory_mib": measured.memory_mib(),
        "file_handles": measured.file_handles(),
        "requests": measured.store_requests() - requests,
    }


def _loaded(measured: Measured, scale: Scale) -> Figures:
    cpu = measured.cpu_seconds()
    seconds = measured.produce("many", scale.partitions, scale.loaded_size)
    return {
        "what": "loaded: 1 KiB records to all partitions",
        "mib_per_s": scale.loaded_size / MIB / seconds,
        "records_per_s": scale.loaded_size / 1024 / seconds,
        "cpu_s_per_minute": (measured.cpu_seconds() - cpu) * 60 / seconds,
        "memory_mib": measured.memory_mib(),
        "file_handles": measured.file_handles(),
    }


def _requests(data: Path, scale: Scale) -> Figures:
    """Requests of an idle broker: in the first round of all upkeep after a start, and in an hour from then on."""
    measured = Measured(data, QUICK_UPKEEP)
    measured.start()
    round_s = 600 / FASTER if scale is FULL else scale.idle_s
    counts = [measured.store_requests()]
    for pause_s in (round_s * 2, round_s):  # The first round begins a while after the start, and takes a while.
        time.sleep(pause_s)
        counts.append(measured.store_requests())
    measured.broker.stop(600)
    return {
        "what": "store requests, idle",
        "start_requests": counts[0],
        "first_round_requests": counts[1] - counts[0],
        "requests_per_hour": (counts[2] - counts[1]) * 6,
    }


def at_the_limit(directory: Path, scale: Scale, tell: Tell) -> list[Figures]:
    """Produce for minutes to all partitions while the write-ahead log has its limit."""
    limit = scale.sustained_wal_size
    tell(f"writing to {scale.partitions} partitions for {scale.sustained_s:.0f} s at a log of {limit // MIB} MiB")
    measured = Measured(fresh_folder(directory / "sustained"), (f"log.wal_size_max={limit}",))
    measured.start()
    run, cpu = sustained(measured, scale.partitions, scale.sustained_s, limit)
    memory, held = measured.memory_mib(), measured.held_back_seconds()
    measured.broker.kill()  # A stop would flush everything first.
    return [
        {
            "what": "sustained, at the limit of the write-ahead log",
            "seconds": len(run.mib_per_s),
            "mib_per_s": run.mean,
            "slowest_mib_per_s": run.slowest,
            "slowest_part": run.slowest / run.mean,
            "held_back_s": held,
            "cpu_s_per_minute": cpu,
            "memory_mib": memory,
            "warm_up_s": run.warm_up_s,
            "each_second_mib": [round(each, 2) for each in run.mib_per_s],
        }
    ]


def recovery(directory: Path, scale: Scale, tell: Tell) -> list[Figures]:
    """The same write-ahead log beside little and beside ten times as much stored data, taking turns."""
    places = {times: fresh_folder(directory / f"stored-{times}") for times in (1, 10)}
    for times, data in places.items():
        tell(f"storing {times * scale.stored_size // MIB} MiB, then {scale.wal_size // MIB} MiB of write-ahead log")
        _prepare(data, scale, times)
    turns = [(0, 1), (0, 10), (1, 10), (1, 1)]  # Neither is always the one with the warmer cache.
    return [_recover(places[times], times, number) for number, times in turns]


def _prepare(data: Path, scale: Scale, times: int) -> None:
    stored = Measured(data)
    stored.start()
    create(stored.broker.bootstrap, "kept", RECOVERY_PARTITIONS)
    stored.produce("kept", RECOVERY_PARTITIONS, scale.stored_size * times)
    stored.broker.stop(600)
    tails = Measured(data, KEEP_TAILS)
    tails.start()
    tails.produce("kept", RECOVERY_PARTITIONS, scale.wal_size)
    tails.broker.kill()


def _recover(data: Path, times: int, number: int) -> Figures:
    wal_size = sum(path.stat().st_size for path in (data / "wal").glob("*.wal"))
    stored = sum(path.stat().st_size for path in (data / "objects" / "segments").rglob("*.seg"))
    copy = fresh_folder(data.parent / "copy")
    shutil.copytree(data / "wal", copy / "wal")  # A start changes the log, and takes the store for its own:
    shutil.copytree(data / "objects", copy / "objects", copy_function=os.link)  # whose objects never change.
    os.sync()  # Otherwise the start would wait for the copy to reach the disk.
    measured = Measured(copy, KEEP_TAILS)
    start_s = measured.start()
    cpu_s, recovered_s = measured.cpu_seconds(), measured.recovery_seconds()
    measured.broker.kill()
    shutil.rmtree(copy)
    return {
        "what": f"recovery, {times} times the stored data",
        "round": number,
        "stored_mib": stored / MIB,
        "wal_mib": wal_size / MIB,
        "recovery_s": recovered_s,
        "start_s": start_s,
        "start_cpu_s": cpu_s,
        "s_per_gib": start_s / (wal_size / (1024 * MIB)),
    }


def fresh_folder(path: Path) -> Path:
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
    return path
