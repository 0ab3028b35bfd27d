"""Decides over histories: a pure function from events to what is wrong.

python tests/torture/checker.py DIRECTORY     decide again over histories that were kept
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # The checkout, for runs from the command line.

from tests.torture.gathering import facts_of
from tests.torture.history import Event, in_time, read_histories
from tests.torture.rules import acked, broker, deleting, duels, mirrored, offsets, reading, transactions, waiting
from tests.torture.rules.problem import Problem, Rule

RULES: tuple[Rule, ...] = (
    acked.lost,
    acked.doubled,
    acked.disorder,
    acked.unseen,
    transactions.aborted,
    transactions.undecided,
    transactions.torn,
    transactions.uncopied,
    offsets.group_back,
    offsets.position_back,
    offsets.marks_back,
    reading.unfinished,
    reading.future,
    reading.changed,
    reading.hidden,
    reading.skipped,
    mirrored.unmirrored,
    deleting.undead,
    deleting.reborn,
    broker.unexpected,
    broker.memory,
    broker.handles,
    broker.growing,
    waiting.stuck,
    waiting.pinned,
    duels.vanished,
    duels.usurped,
    duels.silent,
    duels.rewritten,
)


def check(events: Iterable[Event]) -> list[Problem]:
    """Everything that is wrong; nothing, if all promises were kept."""
    facts = facts_of(in_time(events))
    return [problem for rule in RULES for problem in rule(facts)]


def tell(problems: list[Problem], most: int = 5) -> list[str]:
    """Problems as lines for people: how many of each rule, and the first of them."""
    lines = []
    for rule, count in Counter(problem.rule for problem in problems).items():
        lines.append(f"{rule}: {count}")
        lines += [f"    {each.text}" for each in problems if each.rule == rule][:most]
    return lines


def main(words: list[str]) -> int:
    if len(words) != 1:
        print("name one folder of histories", file=sys.stderr)
        return 2
    events = read_histories(Path(words[0]))
    if not events:
        print(f"{words[0]} holds no histories (*.jsonl): name the folder that the run has told", file=sys.stderr)
        return 2
    found = check(events)
    print("\n".join(tell(found)) or "nothing is wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
