"""Two brokers on one store: the later one stays, and nothing that either has acknowledged goes without a word."""

from __future__ import annotations

from collections.abc import Iterator

from tests.torture.facts import Duel, Facts
from tests.torture.rules.problem import Problem

NOTICED_S = 4.0  # A broker learns within 2 s that it is not the owner any more; a busy machine needs longer.


def vanished(facts: Facts) -> Iterator[Problem]:
    """An acknowledged record is there, or in the log or the quarantine of the broker that acknowledged it."""
    for duel in facts.duels:
        there = {(offset, value) for offset, value, _ in duel.log}
        for ack in duel.acks:
            if (ack.offset, ack.value) not in there and ack.value not in duel.kept.get(ack.writer, []):
                yield Problem("vanished", f"{duel.name}: {ack.value} was acknowledged at {ack.offset}, and is nowhere")


def usurped(facts: Facts) -> Iterator[Problem]:
    """Whoever is not the owner any more acknowledges nothing: at once after a suspend, soon otherwise."""
    for duel in facts.duels:
        for ack in duel.acks:
            until = _until(duel, ack.writer)
            if ack.at > until:
                late = ack.at - until
                yield Problem("usurped", f"{duel.name}: {ack.writer} acknowledged {ack.value} {late:.1f} s too late")


def _until(duel: Duel, writer: str) -> float:
    """When its last acknowledgement may come."""
    last = max(duel.served, key=lambda name: duel.served[name])
    if writer == last:
        return float("inf")
    return duel.resumed.get(writer, duel.served[last] + NOTICED_S)


def silent(facts: Facts) -> Iterator[Problem]:
    """A broker that is not the owner any more ends, and says why."""
    for duel in facts.duels:
        for name in duel.silent:
            yield Problem("silent", f"{duel.name}: {name} does not own the store any more, and did not end with a word")


def rewritten(facts: Facts) -> Iterator[Problem]:
    """An offset that is given again is given in another leader epoch: else readers step over it."""
    for duel in facts.duels:
        seen = {offset: (value, epoch) for offset, value, epoch in duel.seen}
        for offset, value, epoch in duel.log:
            before = seen.get(offset)
            if before is not None and before[0] != value and before[1] == epoch:
                yield Problem("rewritten", f"{duel.name}: {offset} was {before[0]}, now {value}, both in epoch {epoch}")
