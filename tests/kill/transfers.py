"""Transfers: transactions that take an amount in one partition and give it in another, so all sums are zero.

A value is `client:number:amount`. A transfer that was committed is there whole and once; one that was aborted is not
there for readers of what is committed; one without a clear answer is there whole or not at all.
"""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

from tests.kill.transactors import CLIENTS, Records, Transactor
from tests.support.reading import Found

TOPIC = "transfers"
PARTITIONS = 3


@dataclass
class Transfers:
    """What the clients were told: of each transfer, its partitions and amount."""

    committed: dict[tuple[str, int], dict[int, int]] = field(default_factory=dict)
    aborted: set[tuple[str, int]] = field(default_factory=set)
    unclear: set[tuple[str, int]] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)


def transfer(client: str, address: str, history: Transfers, stop: threading.Event, seed: int) -> None:
    """Transfer until it is time to stop. A client that fails is given up, and a new one goes on."""
    chance = random.Random(seed)
    number = 0
    transactor: Transactor | None = None
    while not stop.is_set():
        number += 1
        this = (client, number)
        source, target = chance.sample(range(PARTITIONS), 2)
        amount = chance.randrange(1, 1000)
        commit = chance.random() < 0.8
        records: Records = [
            (source, f"{client}:{number}:{-amount}".encode()),
            (target, f"{client}:{number}:{amount}".encode()),
        ]
        try:
            transactor = transactor or CLIENTS[client](address, f"transfers-{client}")
            transactor.transact(TOPIC, records, commit=commit)
        except Exception as failure:  # Whatever a client throws when its broker dies: it is given up.
            history.failures.append(f"{client}: {failure!r}")
            history.unclear.add(this)
            if transactor is not None:
                transactor.close()
            transactor = None
            time.sleep(0.02)
        else:
            if commit:
                history.committed[this] = {source: -amount, target: amount}
            else:
                history.aborted.add(this)
    if transactor is not None:
        transactor.close()


def seen_transfers(found: Found) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Of each transfer, the partitions and amounts that are there."""
    seen: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for (partition, _), (_, value) in sorted(found.items()):
        client, number, amount = value.decode().split(":")
        seen[client, int(number)].append((partition, int(amount)))
    return seen


def check(history: Transfers, committed: Found, everything: Found) -> list[str]:
    """What is wrong."""
    problems = []
    seen = seen_transfers(committed)
    for this, wanted in history.committed.items():
        if sorted(seen[this]) != sorted(wanted.items()):
            problems.append(f"committed transfer {this}: {wanted} is {seen[this]}")
    problems += [f"aborted transfer {this} is seen: {seen[this]}" for this in history.aborted if seen[this]]
    problems += [
        f"transfer {this} is torn or doubled: {seen[this]}"
        for this in history.unclear
        if seen[this] and (len(seen[this]) != 2 or sum(amount for _, amount in seen[this]))
    ]
    if total := sum(amount for parts in seen.values() for _, amount in parts):
        problems.append(f"the sum is {total}, not 0")
    if not committed.items() <= everything.items():
        problems.append("something committed is not there for readers of everything")
    return problems + out_of_order(committed)


def out_of_order(committed: Found) -> list[str]:
    """A client's transfers come in their order, in each partition."""
    problems = []
    last: dict[tuple[int, str], int] = {}
    for (partition, offset), (_, value) in sorted(committed.items()):
        client, number, _ = value.decode().split(":")
        if int(number) <= last.get((partition, client), 0):
            problems.append(f"{partition}:{offset}: {value!r} comes after {last[partition, client]}")
        last[partition, client] = int(number)
    return problems
