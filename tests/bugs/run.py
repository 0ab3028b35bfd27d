"""Put each known bug into a copy of the code in turn, and show that a test fails: `make bugs`.

Other parts add a module with a list `BUGS` to this folder. Part of a name as argument runs only those bugs.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # So that it runs as a file, too.

from tests.bugs.bug import FAILED, Bug, Outcome, run_with

NOT_LISTS = ("__init__", "bug", "run", "test_bugs")
AT_ONCE = 2


def _all() -> list[Bug]:
    names = sorted(file.stem for file in Path(__file__).parent.glob("*.py") if file.stem not in NOT_LISTS)
    return [bug for name in names for bug in import_module(f"tests.bugs.{name}").BUGS]


ALL = _all()


def main(wanted: list[str]) -> int:
    bugs = [bug for bug in ALL if not wanted or any(word in bug.name for word in wanted)]
    if not bugs:
        print(f"no bug's name has one of these: {', '.join(wanted)}", file=sys.stderr)
        return 2
    sound = run_with(None, tuple(sorted({test for bug in bugs for test in bug.tests})))
    if sound.code != 0:
        print(f"the tests fail without any bug:\n{sound.output}", file=sys.stderr)
        return 1
    print(f"without a bug all tests pass ({sound.seconds:.0f} s)")
    width = max(len(bug.name) for bug in bugs)
    missed = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for bug, outcome in zip(bugs, pool.map(run_with, bugs), strict=True):
            caught = outcome.code == FAILED
            missed += not caught
            print(f"{'caught' if caught else 'MISSED'}  {bug.name:{width}}  {_by(outcome)}", flush=True)
    print(f"{len(bugs) - missed} of {len(bugs)} bugs were caught")
    return 1 if missed else 0


def _by(outcome: Outcome) -> str:
    if outcome.code == FAILED:
        return f"{outcome.seconds:3.0f} s  {outcome.failed_test}"
    return f"pytest ended with {outcome.code}: {outcome.output.strip().splitlines()[-1:]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
