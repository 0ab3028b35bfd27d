"""Writes docs/benchmarks.md, and the table in README.md, from benchmarks/results: `make docs`. --check only compares.

With --results DIR and --page FILE it makes the page of other results, and leaves the README alone.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from publish import publish

CHECKOUT = Path(__file__).parents[2]
sys.path.insert(0, str(CHECKOUT))
from benchmarks.page import headline, page  # noqa: E402
from benchmarks.stored import Stored, read_results  # noqa: E402

RESULTS = CHECKOUT / "benchmarks" / "results"
PAGE = CHECKOUT / "docs" / "benchmarks.md"
README = CHECKOUT / "README.md"
_BLOCK = re.compile(r"(<!-- benchmarks: .*? -->\n).*?(<!-- end of benchmarks -->)", re.DOTALL)


def with_headline(text: str, every: list[Stored]) -> str:
    """The README with this table between its two marks."""
    if not _BLOCK.search(text):
        sys.exit("README.md has lost its marks: <!-- benchmarks: … --> and <!-- end of benchmarks -->")
    return _BLOCK.sub(lambda found: f"{found[1]}\n{headline(every)}\n\n{found[2]}", text)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    if asked.results:
        every = read_results(asked.results)
        publish(asked.page or asked.results / "benchmarks.md", page(every, "."))
        return
    every = read_results(RESULTS)
    publish(PAGE, page(every, "../benchmarks/results"))
    publish(README, with_headline(README.read_text(encoding="utf-8"), every))


if __name__ == "__main__":
    main()
