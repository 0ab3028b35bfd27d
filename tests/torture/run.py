"""The torture test: a broker under mixed load and a random schedule of faults; then the checker decides.

    python tests/torture/run.py --minutes 10 --seed 7
    python tests/torture/run.py --minutes 10 --seed 7 --brokers 3

A run of five minutes and more has a sync, and where there is a JDK a Spark stream, too; shorter ones only if told so.
The same seed gives the same schedule and the same load; how threads and processes meet it does not repeat, so a failing
seed is run a few times. Histories of a run that failed are kept, and can be decided over again.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))  # The checkout, for runs from the command line.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # Before it is loaded: it tells of every connection that ends.

from tests.java.jvm import missing
from tests.support.s3_server import missing as s3_missing
from tests.support.spark_session import no_spark
from tests.torture.brokers_run import brokers_house
from tests.torture.cast import OPTIONS, Options
from tests.torture.checker import check, tell
from tests.torture.clients.administering import Administrator
from tests.torture.history import Event, read_histories
from tests.torture.rules.problem import Problem
from tests.torture.schedule import ALL
from tests.torture.torture_run import house

LONG_MINUTES = 5.0


class Outcome(NamedTuple):
    events: list[Event]
    problems: list[Problem]


def run(folder: Path, seed: int, seconds: float, options: Options = OPTIONS) -> Outcome:
    """One run, and the checker's word on it."""
    administrator = Administrator()
    if options.brokers > 1:
        with brokers_house(folder, seed, administrator, options.brokers) as cluster:
            cluster.run(seed, seconds, administrator)
    else:
        with house(folder, seed, administrator, options) as whole:
            whole.run(seed, seconds, administrator)
    events = read_histories(folder / "histories")
    return Outcome(events, check(events))


def summary(events: list[Event]) -> str:
    """What happened, in three lines."""
    acked = sum(len(each["acks"]) for each in events if each["op"] == "send" and each["kind"] == "ok")
    read = sum(len(each["offsets"]) for each in events if each["op"] == "read")
    ends = Counter(f"{each['op']}s" for each in events if each["op"] in ("commit", "abort") and each["kind"] == "ok")
    faults = Counter(each["fault"] for each in events if each["op"] == "fault")
    made_of = next((f"{each['store']}; full: {each['disk']}" for each in events if each["op"] == "made of"), "")
    rss = max((each["rss"] for each in events if each["op"] == "sample"), default=0)
    handles = max((each["handles"] for each in events if each["op"] == "sample"), default=0)
    return (
        f"store: {made_of}\n"
        f"{acked} records acknowledged, {read} read, {dict(ends)}; at most {rss >> 20} MiB and {handles} handles\n"
        f"{sum(faults.values())} faults: {', '.join(f'{kind} {number}' for kind, number in sorted(faults.items()))}"
    )


def _options(asked: argparse.Namespace) -> Options:
    long = asked.minutes >= LONG_MINUTES
    return Options(
        spark=long and no_spark() is None if asked.spark is None else asked.spark,
        sync=long if asked.sync is None else asked.sync,
        s3=asked.seed % 2 == 0 if asked.store is None else asked.store == "s3",
        mounted=True,
        java=missing() is None if asked.java is None else asked.java,
        stamps=asked.stamps,
        secured=long if asked.secured is None else asked.secured,
        many=asked.many,
        faults=_faults(asked.faults),
    )


def _faults(asked: str | None) -> tuple[str, ...]:
    """Names, or those that are left out of all, with a minus sign; some of each makes no sense."""
    names = asked.split(",") if asked else []
    unknown = {name.removeprefix("-") for name in names} - set(ALL)
    if unknown:
        raise SystemExit(f"no such fault: {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    wanted = [name for name in names if not name.startswith("-")]
    return tuple(name for name in ALL if name in (wanted or ALL) and f"-{name}" not in names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    for name in ("spark", "sync", "secured"):
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, help="default: in long runs")
    parser.add_argument("--java", action=argparse.BooleanOptionalAction, help="default: if it is installed")
    parser.add_argument("--stamps", action=argparse.BooleanOptionalAction, default=True, help="records of other days")
    parser.add_argument("--many", type=int, default=0, metavar="N", help="a topic of N partitions, as 2000")
    parser.add_argument(
        "--brokers", type=int, default=1, metavar="N", help="on one S3 server, with faults of their own"
    )
    parser.add_argument("--faults", metavar="NAMES", help="only kill,cut,… or the usual but -clone,…")
    parser.add_argument("--store", choices=("s3", "directory"), help="default: by the seed; s3, if it is installed")
    parser.add_argument("--keep", action="store_true", help="keep the histories of a run that is all right, too")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix=f"holdfast-torture-{asked.seed}-"))
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # Clients complain of every fault.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    if asked.brokers > 1 and (reason := s3_missing()):
        raise SystemExit(reason)
    options = Options(brokers=asked.brokers, faults=()) if asked.brokers > 1 else _options(asked)
    print(f"seed {asked.seed}, {asked.minutes:g} minutes, {options}", flush=True)
    began = time.monotonic()
    outcome = run(folder, asked.seed, asked.minutes * 60, options)
    print(summary(outcome.events))
    print(f"{len(outcome.problems)} problems after {time.monotonic() - began:.0f} s")
    if not outcome.problems and not asked.keep:
        shutil.rmtree(folder)
        return 0
    for line in tell(outcome.problems):
        print(line)
    print(f"histories: {folder}/histories; decide again: .venv/bin/python tests/torture/checker.py {folder}/histories")
    if not outcome.problems:
        return 0
    brokers = f" BROKERS={asked.brokers}" if asked.brokers > 1 else ""
    print(f"run it again: make torture{brokers} MINUTES={asked.minutes:g} SEED={asked.seed}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
