"""Runs all benchmarks one after the other, on a machine that is quiet, and writes the page.

.venv/bin/python benchmarks/run.py                   about an hour
.venv/bin/python benchmarks/run.py --quick           some minutes; results and page go to .tools/bench/quick
.venv/bin/python benchmarks/run.py --only wal,log    some of them
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # The checkout, so that every module has one name.

from benchmarks.machine import CHECKOUT
from benchmarks.quiet import wait_until_quiet
from benchmarks.stored import NAMES

QUICK = CHECKOUT / ".tools" / "bench" / "quick"
_QUICK_MORE = {"spark": ["--rows", "300000"], "subscribe": ["--no-s3"]}


def main() -> int:
    asked = _arguments()
    failed = []
    for name in asked.only:
        if name == "spark" and shutil.which("java") is None:
            tell("benchmark spark is left out: there is no JDK")
            continue
        tell(f"benchmark {name} …")
        wait_until_quiet(tell)
        if subprocess.run(command(name, quick=asked.quick), cwd=CHECKOUT).returncode:
            failed.append(name)
    if subprocess.run(page_command(quick=asked.quick), cwd=CHECKOUT).returncode:
        failed.append("the page")
    if failed:
        tell(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run all benchmarks.")
    parser.add_argument("--quick", action="store_true", help="less of everything, for a first look")
    parser.add_argument("--only", type=_names, default=NAMES, metavar="NAME,…", help=f"of {', '.join(NAMES)}")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(NAMES):
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)} is none of: {', '.join(NAMES)}")
    return names


def command(name: str, *, quick: bool) -> list[str]:
    """How one benchmark is run; only the full form touches what is stored."""
    run = [sys.executable, f"benchmarks/{name}/run.py"]
    if not quick:
        return run
    QUICK.mkdir(parents=True, exist_ok=True)
    return [*run, "--quick", "--results", str(QUICK), *_QUICK_MORE.get(name, [])]


def page_command(*, quick: bool) -> list[str]:
    return [sys.executable, "docs/tools/bench_page.py", *(["--results", str(QUICK)] if quick else [])]


def tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
