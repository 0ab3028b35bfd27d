"""The torture test: a broker under mixed load and a random schedule of faults; then the checker decides.

    python tests/torture/run.py --minutes 10 --seed 7

The same seed gives the same schedule and the same load; how threads and processes meet it does not repeat, so a failing
seed is run a few times. Histories of a run that failed are kept, and can be decided over again.
"""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))  # The checkout, for runs from the command line.

from tests.torture.checker import check, tell
from tests.torture.clients.administering import Administrator
from tests.torture.history import Event, read_histories
from tests.torture.house import house
from tests.torture.rules.problem import Problem


class Outcome(NamedTuple):
    events: list[Event]
    problems: list[Problem]


def run(folder: Path, seed: int, seconds: float) -> Outcome:
    """One run, and the checker's word on it."""
    administrator = Administrator()
    with house(folder, seed, administrator) as whole:
        whole.run(seed, seconds, administrator)
    events = read_histories(folder / "histories")
    return Outcome(events, check(events))


def summary(events: list[Event]) -> str:
    """What happened, in two lines."""
    acked = sum(len(each["acks"]) for each in events if each["op"] == "send" and each["kind"] == "ok")
    read = sum(len(each["offsets"]) for each in events if each["op"] == "read")
    ends = Counter(f"{each['op']}s" for each in events if each["op"] in ("commit", "abort") and each["kind"] == "ok")
    faults = Counter(each["fault"] for each in events if each["op"] == "fault")
    rss = max((each["rss"] for each in events if each["op"] == "sample"), default=0)
    handles = max((each["handles"] for each in events if each["op"] == "sample"), default=0)
    return (
        f"{acked} records acknowledged, {read} read, {dict(ends)}; at most {rss >> 20} MiB and {handles} handles\n"
        f"{sum(faults.values())} faults: {', '.join(f'{kind} {number}' for kind, number in sorted(faults.items()))}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--keep", action="store_true", help="keep the histories of a run that is all right, too")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix=f"holdfast-torture-{asked.seed}-"))
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # Clients complain of every fault.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    logging.getLogger("holdfast").setLevel(logging.ERROR)
    print(f"seed {asked.seed}, {asked.minutes:g} minutes", flush=True)
    began = time.monotonic()
    outcome = run(folder, asked.seed, asked.minutes * 60)
    print(summary(outcome.events))
    print(f"{len(outcome.problems)} problems after {time.monotonic() - began:.0f} s")
    if not outcome.problems:
        if not asked.keep:
            shutil.rmtree(folder)
        return 0
    print("\n".join(tell(outcome.problems)))
    print(f"histories: {folder}/histories; decide again: .venv/bin/python tests/torture/checker.py {folder}/histories")
    print(f"run it again: make torture MINUTES={asked.minutes:g} SEED={asked.seed}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
