"""A real broker under load, killed with SIGKILL again and again; then everything is counted.

    python tests/kill/rounds.py --rounds 200 --seed 7

Idempotent producers write numbers, and groups of both protocols read them and commit (`numbers`). Transactional
producers of three clients write transfers (`transfers`), and copy loops copy those exactly once (`copying`). Meanwhile
the broker is killed and started again. Afterwards every acknowledged record must be there, once, in its producer's
order, at the offset that was acknowledged; committed offsets must never have gone back; the groups must have reached
the end; every transfer must be there whole or not at all; and the copy must be the same as what was copied.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, str(Path(__file__).parents[2]))  # The checkout, for runs from the command line.

from tests.kill import copying, numbers, transfers
from tests.kill.transactors import CLIENTS
from tests.support.broker_process import BrokerProcess
from tests.support.reading import Found, read_whole, wait_until_ended

from holdfast.testing import free_port

SETTINGS = (
    "group.initial.rebalance.delay.ms=0",
    "group.consumer.min.heartbeat.interval.ms=200",
    "group.consumer.heartbeat.interval.ms=200",
    "group.consumer.min.session.timeout.ms=6000",
    "group.consumer.session.timeout.ms=6000",
    "log.segment_size_max=262144",
    "log.flush_age_ms_max=300",
)
_IDLE_SECONDS_MAX = 5


@dataclass
class Seen:
    """What all clients were told, and what they failed with."""

    numbers: numbers.History = field(default_factory=numbers.History)
    transfers: transfers.Transfers = field(default_factory=transfers.Transfers)
    copied: int = 0
    copy_failures: list[str] = field(default_factory=list)

    def progress(self) -> tuple[int, ...]:
        """Counts that grow as long as producers get on."""
        return len(self.numbers.acked), len(self.transfers.committed)


class Load:
    """All clients, each in a thread."""

    def __init__(self, address: str, seen: Seen, seed: int, producers: int) -> None:
        self._seen = seen
        self._stop_writing, self._stop_reading = threading.Event(), threading.Event()
        writing, reading = self._stop_writing, self._stop_reading
        plain = [(numbers.produce, (each, address, seen.numbers, writing)) for each in range(producers)]
        transacting = [
            (transfers.transfer, (client, address, seen.transfers, writing, seed + number))
            for number, client in enumerate(CLIENTS)
        ]
        following = [
            (numbers.follow, (group, protocol, address, seen.numbers, reading))
            for group, protocols in numbers.GROUPS.items()
            for protocol in protocols
        ]
        copiers = [
            (copying.copy, (protocol, address, seen.copy_failures, reading, seed + number))
            for number, protocol in enumerate(("classic", "consumer"))
        ]
        self._writers = [threading.Thread(target=run, args=args) for run, args in [*plain, *transacting]]
        self._readers = [threading.Thread(target=run, args=args) for run, args in [*following, *copiers]]

    def start(self) -> None:
        for thread in [*self._writers, *self._readers]:
            thread.start()

    def wait(self, seconds: float) -> None:
        """Until both kinds of writers have got on, so that a kill never hits an idle broker, and then so long."""
        before = self._seen.progress()
        deadline = time.monotonic() + _IDLE_SECONDS_MAX
        while not all(now > then for now, then in zip(self._seen.progress(), before, strict=True)):
            if time.monotonic() > deadline:
                break
            self._stop_writing.wait(0.01)  # Only the time passes: nobody sets the event in here.
        self._stop_writing.wait(seconds)

    def stop_writing(self) -> None:
        self._stop_writing.set()
        for thread in self._writers:
            thread.join()

    def stop_reading(self) -> None:
        self._stop_reading.set()
        for thread in self._readers:
            thread.join()


def run(data: Path, rounds: int, seed: int, producers: int = 2) -> tuple[Seen, list[str]]:
    """The whole test; what was seen, and what was wrong."""
    chance = random.Random(seed)
    broker = BrokerProcess(data, port=free_port(), settings=SETTINGS)
    broker.start()
    make_topics(broker.address)
    seen = Seen()
    load = Load(broker.address, seen, seed, producers)
    load.start()
    try:
        for _ in range(rounds):
            load.wait(chance.random() * 0.5)
            broker.kill()
            broker.start()
            numbers.check_committed(broker.address, seen.numbers)
        load.stop_writing()
        problems = judge(broker.address, seen, load)
    finally:
        load.stop_writing()
        load.stop_reading()
    numbers.check_committed(broker.address, seen.numbers)
    broker.stop()
    return seen, problems + seen.numbers.problems


def make_topics(address: str) -> None:
    admin = AdminClient({**numbers.QUIET, "bootstrap.servers": address})
    topics = {
        numbers.TOPIC: numbers.PARTITIONS,
        transfers.TOPIC: transfers.PARTITIONS,
        copying.TOPIC: transfers.PARTITIONS,
    }
    for made in admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()]).values():
        made.result(20)


def judge(address: str, seen: Seen, load: Load) -> list[str]:
    """Let the readers catch up, stop them, and count."""
    stored = numbers.read_all(address)
    numbers.wait_for_groups(seen.numbers, sum(map(len, stored)))
    committed = whole(address, transfers.TOPIC)
    copying.wait_for_copies(address, len(committed))
    load.stop_reading()
    copies = whole(address, copying.TOPIC)
    seen.copied = len(copies)
    everything = read_whole(address, transfers.TOPIC, transfers.PARTITIONS, committed=False)
    return [
        *numbers.check(seen.numbers, stored),
        *transfers.check(seen.transfers, committed, everything),
        *copying.check(committed, copies),
    ]


def whole(address: str, topic: str) -> Found:
    """All that is committed, once nothing is open any more: what was given up is aborted when its time is over."""
    wait_until_ended(address, topic, transfers.PARTITIONS)
    return read_whole(address, topic, transfers.PARTITIONS, committed=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    asked = parser.parse_args()
    logging.disable()  # Clients in Python complain at length of a broker that is not there.
    print(f"seed {asked.seed}, {asked.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        seen, problems = run(Path(folder), asked.rounds, asked.seed)
    print(
        f"{len(seen.numbers.acked)} records acknowledged, {len(seen.transfers.committed)} transfers committed, "
        f"{len(seen.transfers.aborted)} aborted, {len(seen.transfers.unclear)} unclear, {seen.copied} records copied, "
        f"{len(problems)} problems"
    )
    for problem in problems[:20]:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
