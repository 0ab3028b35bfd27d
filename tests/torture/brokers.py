"""Several brokers on one S3 server, each with a way to it of its own that can be disturbed."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from tests.support.faulty_proxy import FaultyProxy, Plan
from tests.support.s3_server import S3Server
from tests.torture.history import History
from tests.torture.starting import start_patiently
from tests.torture.store import ON_THE_WAY

from holdfast.testing import BrokerDidNotStart, RunningBroker, free_port

COMMAND = Path(sys.executable).parent / "holdfast"
LEASE_RENEW_MS, LEASE_MS, TAKEOVER_MS = 300, 1500, 2500
MIB = 1 << 20
SETTINGS = (
    "cluster.leaders=many",
    f"cluster.lease_renew_ms={LEASE_RENEW_MS}",
    f"cluster.lease_ms={LEASE_MS}",
    f"cluster.takeover_ms={TAKEOVER_MS}",
    "cluster.drain_ms=15000",
    "log.owner_check_ms=300",
    "wal.interval_ms=40",
    "auto.create.topics.enable=false",
    "subscribe.listen=none",
    "group.initial.rebalance.delay.ms=0",
    "group.consumer.min.heartbeat.interval.ms=300",
    "group.consumer.heartbeat.interval.ms=300",
    "group.consumer.min.session.timeout.ms=8000",
    "group.consumer.session.timeout.ms=8000",
    "offsets.topic.num.partitions=3",
    "transaction.state.log.num.partitions=3",
    f"log.segment_size_max={MIB // 4}",  # Small, and checked often: everything happens many times in a short run.
    f"log.tail_size_max={8 * MIB}",
    f"log.cache_size_max={4 * MIB}",
    "log.flush_age_ms_max=2000",
    "log.flush_retry_ms_max=500",
    "log.retention_check_ms=1000",
    "log.compaction_check_ms=2000",
    "log.garbage_check_ms=5000",
)
_NEVER = ("Traceback", "never retrieved", "was never awaited", "Exception in callback")  # Lines that tell of a bug.
_NUMBER_TAKEN = "is in the cluster already"  # Its disk is lost, and others have not yet missed it.
_LIFE_OVER = re.compile("was ended by others|another process has taken over")
_COMMAND_S = 60.0
_STOP_S = 90.0


class Brokers:
    """By their numbers, 1 and up. Whatever disturbs one of them leaves the others alone."""

    def __init__(self, folder: Path, server: S3Server, history: History, chance: random.Random) -> None:
        self._folder = folder
        self._history = history
        self._chance = chance
        self._store = f"s3://{server.fresh_bucket()}"
        self._options = server.options
        self._server = server
        self._proxies: dict[int, FaultyProxy] = {}
        self._running: dict[int, RunningBroker] = {}
        self._heard: dict[int, int] = {}
        self.lock = threading.RLock()  # One broker is started by the schedule, another by a timer.

    def add(self, number: int, proxy: FaultyProxy) -> None:
        """A broker that is not started yet."""
        own = (*SETTINGS, f"serve.store={self._store}", f"node.id={number}")
        self._proxies[number] = proxy
        self._running[number] = RunningBroker(
            self._folder / f"b{number}",
            port=free_port(),
            environment=environment({**self._options, "endpoint": proxy.endpoint}),
            options=[*(word for each in own for word in ("--set", each)), "--cluster"],
        )

    @property
    def numbers(self) -> list[int]:
        return sorted(self._running)

    @property
    def bootstrap(self) -> str:
        return ",".join(self._running[each].bootstrap for each in self.numbers)

    def is_running(self, number: int) -> bool:
        return self._running[number].is_running

    def pid(self, number: int) -> int:
        return self._running[number].pid

    # Processes

    def start(self, number: int) -> None:
        """It can be reached when this returns. Without its store no broker starts."""
        with self.lock:
            broker = self._running[number]
            if broker.is_running:
                return
            self.reach(number)
            deadline = time.monotonic() + _COMMAND_S
            while True:
                try:
                    start_patiently(broker)
                    break
                except BrokerDidNotStart as failure:
                    taken = any(_NUMBER_TAKEN in each for each in failure.said[-5:])
                    self._history.info("broker", event="not started", expected=taken, said=list(failure.said[-5:]))
                    if time.monotonic() > deadline:
                        raise
            self._history.info("broker", event="started", expected=True, number=number)

    def kill(self, number: int, *, with_disk: bool = False) -> None:
        """SIGKILL; with its disk: nothing is left of its machine."""
        with self.lock:
            broker = self._running[number]
            if broker.is_running:
                self._history.info("broker", event="killed", expected=True, number=number)
                broker.kill()
                self.listen(number)
            if with_disk:
                shutil.rmtree(self._folder / f"b{number}", ignore_errors=True)

    def stop(self, number: int) -> None:
        """SIGTERM: it hands over what it leads, and ends in order."""
        with self.lock:
            broker = self._running[number]
            if not broker.is_running:
                return
            broker.signal(signal.SIGCONT)
            self._history.info("broker", event="stopped", expected=True, number=number)
            code = broker.stop(timeout=_STOP_S)
            self.listen(number)
            if code:
                over = any(
                    _LIFE_OVER.search(each) for each in broker.said[-3:]
                )  # It was told to stop after it had been.
                self._history.info("broker", event="ended", expected=over, code=code, said=broker.said[-5:])

    def freeze(self, number: int) -> int:
        """SIGSTOP; whom to thaw."""
        broker = self._running[number]
        if not broker.is_running:
            return -1
        broker.signal(signal.SIGSTOP)
        return broker.pid

    def thaw(self, number: int, process: int = 0) -> None:
        """SIGCONT, unless it is another process by now; twice changes nothing."""
        broker = self._running[number]
        if broker.is_running and process in (0, broker.pid):
            broker.signal(signal.SIGCONT)

    def revive(self, away: Collection[int]) -> None:
        """Start whoever has ended by itself, which nobody may; those who are away were ended by us."""
        with self.lock:
            for number, broker in self._running.items():
                if broker.is_running or number in away:
                    continue
                broker.wait()
                self.listen(number)
                told = broker.said[-5:]
                self._history.info("broker", event="failed", expected=False, number=number, said=told)
                self.start(number)

    def listen(self, number: int) -> None:
        """Look for words that a broker should never have to say."""
        said = list(self._running[number].said)
        for at in range(min(self._heard.get(number, 0), len(said)), len(said)):
            if any(word in said[at] for word in _NEVER):
                self._history.info("said", line="\n".join(said[at : at + 60]))
        self._heard[number] = len(said)

    def close(self) -> None:
        for number, broker in self._running.items():
            (self._folder / f"said-{number}.txt").write_text("\n".join(broker.said))
            broker.close()

    # Their ways to the store

    def disturb(self, number: int, plan: Plan) -> None:
        self._proxies[number].plan = plan

    def fail(self, number: int, share: float) -> None:
        """So many of its requests go wrong, done or not."""
        self.disturb(
            number, lambda method, path: self._chance.choice(ON_THE_WAY) if self._chance.random() < share else None
        )

    def slow(self, number: int, seconds: float) -> None:
        self._proxies[number].delay_s = seconds

    def reach(self, number: int) -> None:
        """Its store is well."""
        self._proxies[number].plan = lambda method, path: None
        self._proxies[number].delay_s = 0.0

    # What an operator does

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`holdfast cluster …` on the store itself."""
        call = [str(COMMAND), "cluster", words[0], self._store, *words[1:]]
        own = {**os.environ, **environment(self._options)}
        return subprocess.run(call, env=own, capture_output=True, text=True, timeout=_COMMAND_S * 2, check=False)


def environment(options: Mapping[str, str]) -> dict[str, str]:
    """What a process needs to find the store."""
    return {f"AWS_{name.upper()}": value for name, value in options.items()}
