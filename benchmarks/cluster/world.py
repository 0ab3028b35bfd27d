"""Real brokers on a real S3 server, with a way to it that takes its time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.machine import CHECKOUT
from confluent_kafka.admin import AdminClient, NewTopic
from tests.support.s3_server import S3Server

from holdfast.testing import RunningBroker, free_port

COMMAND = Path(sys.executable).parent / "holdfast"
TOPIC = "t"
_PATIENCE_S = 60.0
_COUNTED = re.compile(r"^holdfast_store_seconds_count\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class World:
    """Brokers by their numbers, 1 and up."""

    def __init__(self, folder: Path, environment: dict[str, str], store: str, settings: tuple[str, ...]) -> None:
        self._folder = folder
        self._environment = environment
        self._store = store
        self._settings = ("cluster.leaders=many", "subscribe.listen=none", f"serve.store={store}", *settings)
        self._metrics: dict[int, int] = {}
        self.brokers: dict[int, RunningBroker] = {}
        self.proxy: subprocess.Popen[str] | None = None

    def start(self, *numbers: int) -> None:
        """They are known to each other when this returns."""
        for number in numbers:
            self._metrics[number] = free_port()
            given = (*self._settings, f"node.id={number}")
            options = [*(word for each in given for word in ("--set", each)), "--cluster"]
            options += ["--metrics", f"127.0.0.1:{self._metrics[number]}"]
            broker = RunningBroker(self._folder / f"b{number}", environment=self._environment, options=options)
            self.brokers[number] = broker
            broker.start()
        admin = self.admin()
        until(lambda: set(admin.list_topics(timeout=10).brokers) == set(self.brokers), "a broker is not known")

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    @property
    def bootstrap(self) -> str:
        return ",".join(each.bootstrap for each in self.brokers.values())

    def make_topic(self, partitions: int) -> None:
        """All brokers lead when this returns, and none is about to be given more."""
        admin = self.admin()  # Kept: one that nobody has any more ends what it was asked for.
        admin.create_topics([NewTopic(TOPIC, partitions)], request_timeout=_PATIENCE_S)[TOPIC].result()
        wanted = min(len(self.brokers), partitions)
        until(lambda: len(set(self.leaders())) >= wanted and -1 not in self.leaders(), "a partition has no leader")

    def leaders(self) -> list[int]:
        found = self.admin().list_topics(TOPIC, timeout=10).topics[TOPIC].partitions
        return [found[each].leader for each in sorted(found)]

    def rounds(self) -> int:
        """Puts of rounds of all brokers that run, since their starts, as they count them."""
        found = 0
        for number, port in self._metrics.items():
            if self.brokers[number].is_running:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                    text = answer.read().decode()
                found += sum(int(float(count)) for labels, count in _COUNTED.findall(text) if _is_round(labels))
        return found

    def requests(self) -> Counter[str]:
        """Of all brokers, as the proxy counts them: put, get, list, delete; and rounds among the puts."""
        assert self.proxy is not None
        assert self.proxy.stdin is not None
        assert self.proxy.stdout is not None
        self.proxy.stdin.write("\n")
        self.proxy.stdin.flush()
        return Counter(json.loads(self.proxy.stdout.readline()))

    def command(self, *words: str) -> None:
        """`holdfast cluster …`."""
        call = [str(COMMAND), "cluster", words[0], self._store, *words[1:]]
        told = subprocess.run(
            call, env={**os.environ, **self._environment}, capture_output=True, text=True, timeout=120
        )
        if told.returncode:
            raise RuntimeError(told.stderr.strip()[-200:])

    def close(self) -> None:
        for each in self.brokers.values():
            each.close()


def _is_round(labels: str) -> bool:
    named = dict(_LABEL.findall(labels))
    return (named["operation"], named["kind"]) == ("put", "wal")


def until(is_so: object, wrong: str, seconds: float = _PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise RuntimeError(wrong)
        time.sleep(0.1)


@contextmanager
def world(folder: Path, latency_ms: float, *settings: str, counted: bool = False) -> Iterator[World]:
    """An empty bucket, so far away, and no broker yet. `counted`: there is a proxy in any case, and it counts."""
    with ExitStack() as stack:
        server = stack.enter_context(S3Server())
        port, proxy = server.port, None
        if latency_ms or counted:
            port = free_port()
            command = [sys.executable, "-m", "benchmarks.cluster.delay", str(port), str(server.port), str(latency_ms)]
            proxy = subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.callback(proxy.wait)
            stack.callback(proxy.terminate)
            assert proxy.stdout is not None
            if proxy.stdout.readline().strip() != "ready":
                raise RuntimeError("the proxy has not come up")
        options = {**server.options, "endpoint": f"http://127.0.0.1:{port}"}
        environment = {f"AWS_{name.upper()}": value for name, value in options.items()}
        made = World(folder, environment, f"s3://{server.fresh_bucket()}", settings)
        made.proxy = proxy
        stack.callback(made.close)
        yield made
