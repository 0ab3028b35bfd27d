"""A search over seeds: each is several lives of something on a simulated disk, and the same seed gives the same run."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

PROGRESS_S = 10.0

Found: TypeAlias = tuple[Counter[str], dict[int, BaseException]]


class Lives(Protocol):
    """What one seed is."""

    counts: Counter[str]

    def run(self) -> object: ...


def search(
    lives_of: Callable[[int], Lives],
    seeds: Iterable[int],
    found_max: int = sys.maxsize,
    tell: Callable[[int, BaseException | None], None] = lambda *_: None,
) -> Found:
    """Run all seeds, or until enough of them found something; what happened how often, and what they found.

    `tell` hears of each seed that is done. Ctrl-C ends the search with what it has.
    """
    counts: Counter[str] = Counter()
    found: dict[int, BaseException] = {}
    for seed in seeds:
        lives = lives_of(seed)
        try:
            lives.run()
        except KeyboardInterrupt:
            break
        except Exception as failure:
            found[seed] = failure
        counts += lives.counts
        tell(seed, found.get(seed))
        if len(found) >= found_max:
            break
    return counts, found


def crash_points(counts: Counter[str]) -> int:
    return counts["killed"] + counts["power cut"]


def main(lives_of: Callable[[int], Lives], description: str | None, crashes: str) -> int:
    """The search as a command; `crashes` is what its crashes are called."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds to run (default 1000)")
    parser.add_argument("--start", type=int, default=0, help="the first seed (default 0)")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    started = told = time.monotonic()
    done = 0

    def tell(seed: int, failure: BaseException | None) -> None:
        """What is found is said at once, and how far it is every few seconds."""
        nonlocal done, told
        done += 1
        if failure is not None:
            print(f"seed {seed}: {type(failure).__name__}: {failure}", flush=True)
        if time.monotonic() - told >= PROGRESS_S:
            told = time.monotonic()
            rate = done / (told - started)
            left = (options.seeds - done) / rate
            print(f"{done} of {options.seeds} seeds, {rate:.1f}/s, {left:.0f} s left", file=sys.stderr, flush=True)

    counts, found = search(lives_of, range(options.start, options.start + options.seeds), tell=tell)
    seconds = time.monotonic() - started
    print(f"{done} seeds from {options.start}, {crash_points(counts)} {crashes}, {seconds:.0f} s")
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(f"{len(found)} seeds found something" if found else "nothing was lost, nothing came from nowhere")
    return 1 if found else 0
