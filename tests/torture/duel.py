"""Two brokers on one store, in a world of their own: a copy beside its original, a take-over, a directory set back.

What either acknowledges is remembered with its time and offset. In the end the one that began to serve last is read;
whatever is not there is looked for in the write-ahead log and the quarantine of the other.
"""

from __future__ import annotations

import random
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from tests.torture.controls import Controls
from tests.torture.history import History

from holdfast.io.disk import RealDirectory
from holdfast.testing import BrokerDidNotStart, RunningBroker
from holdfast.wal import Wal

ENTRY = Path(__file__).with_name("faulty_serve.py")
SETTINGS = (
    "num.partitions=1",
    f"wal.chunk_size_max={256 << 10}",
    f"log.segment_size_max={32 << 10}",
    "log.flush_age_ms_max=20",  # Many versions of a manifest, so that old ones are deleted.
    "log.flush_retry_ms_max=300",
    "log.garbage_check_ms=500",
)
GRACE_S = 4.0  # After which they may be; an hour in earnest.
TOPIC = "duel"
_ENDS_S = 12.0  # So long a broker that has lost its store may take to end.
_READ_S = 30.0
_WORDS = ("does not own", "fenced", "taken over", "taken it over")  # One of them says why it is not the owner any more.


class Writing(threading.Thread):
    """Sends to one broker until it is told to stop, and remembers what was acknowledged, and when."""

    def __init__(self, name: str, broker: RunningBroker) -> None:
        super().__init__(daemon=True)
        self.writer = name
        self.acks: list[list[Any]] = []
        self._producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap,
                "log_level": 0,
                "linger.ms": 0,
                "message.timeout.ms": 15_000,
                "reconnect.backoff.max.ms": 200,
            }
        )
        self._ending = threading.Event()
        self.start()

    def run(self) -> None:
        number = 0
        while not self._ending.wait(0.004):
            try:
                self._producer.produce(TOPIC, f"{self.writer}:{number}", on_delivery=self._told)
                number += 1
            except (BufferError, KafkaException):
                self._ending.wait(0.1)
            self._producer.poll(0)
        self._producer.flush(2)

    def _told(self, error: Any, message: Any) -> None:
        if error is None:
            self.acks.append([self.writer, message.value().decode(), time.monotonic(), message.offset()])

    def stop(self) -> None:
        self._ending.set()
        self.join()


class Duel:
    """One of them, in a folder of its own."""

    def __init__(self, folder: Path, kind: str, chance: random.Random) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._kind = kind
        self._chance = chance
        self._controls = {name: Controls(folder / f"{name}.controls") for name in ("a", "b")}
        self._brokers: dict[str, RunningBroker] = {}
        self._writers: list[Writing] = []
        self._served: dict[str, float] = {}
        self._resumed: dict[str, float] = {}
        self._seen: list[list[Any]] = []
        self._kept_in = {"a": folder / "a", "b": folder / "b"}
        self._refused = ""

    def run(self, history: History) -> None:
        """From the first start to the last word on it."""
        try:
            self._start("a", "a")
            self._write("a", 1.0)
            getattr(self, "_" + self._kind)()
            for writer in self._writers:
                writer.stop()
            silent = [name for name in self._losers() if not self._ended(name)]
            log = self._read(self._brokers[self._owner()])
            self._end()
            history.info("duel", name=str(self._folder.name), refused=self._refused, **self._facts(log), silent=silent)
        except Exception as failure:
            history.info("unfinished", what=f"{self._folder.name}: {failure!r}", said=self._said())
        finally:
            self._end()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self) -> None:
        for broker in self._brokers.values():
            broker.close()

    # What happens

    def _clone(self) -> None:
        """A copy is started beside its original, and both are written to."""
        self._copy("a", "b")
        self._begin_second()
        self._pause(3.0)

    def _usurp(self) -> None:
        """The original is suspended, and its clock of intervals with it; a copy, or a new broker, takes its place."""
        if self._chance.random() < 0.5:
            self._copy("a", "b")
        original = self._brokers["a"]
        original.signal(signal.SIGSTOP)
        slept = time.monotonic()
        self._begin_second()
        self._pause(1.5 if self._chance.random() < 0.5 else 1.5 * GRACE_S)
        self._controls["a"]["slept_s"] = time.monotonic() - slept
        if "b" in self._served:
            self._resumed["a"] = time.monotonic()
        original.signal(signal.SIGCONT)
        self._pause(2.5)

    def _set_back(self) -> None:
        """The directory becomes what it was a while ago; what was acknowledged since is in the one that is put away."""
        if self._chance.random() < 0.5:
            self._brokers["a"].stop()
            shutil.copytree(self._folder / "a", self._folder / "older")
            self._brokers["a"].start()
        else:
            self._copy("a", "older")
        self._pause(1.5)
        self._writers[0].stop()
        self._seen = self._read(self._brokers["a"])
        self._brokers["a"].kill()
        (self._folder / "a").rename(self._folder / "newer")
        (self._folder / "older").rename(self._folder / "b")
        self._kept_in["a"] = self._folder / "newer"
        self._begin_second()
        self._pause(1.0)

    def _begin_second(self) -> None:
        """It may refuse to start; then it is told to take over, or left alone: its original is alive."""
        try:
            self._start("b", "b")
        except BrokerDidNotStart as failure:
            self._refused = failure.said[-1] if failure.said else ""
            if self._kind == "clone":
                del self._brokers["b"]
                return
            self._start("b", "b", "--take-over")
        self._write("b", 0.0)

    def _start(self, name: str, folder: str, *words: str) -> None:
        options = [word for each in (*SETTINGS, f"serve.store={self._folder / 'store'}") for word in ("--set", each)]
        broker = self._brokers[name] = RunningBroker(
            self._folder / folder,
            environment={"TORTURE_CONTROLS": str(self._controls[name].path), "TORTURE_GRACE_S": str(GRACE_S)},
            options=[*options, *words],
            entry=[str(ENTRY)],
        )
        broker.start()
        self._wait_for_its_store(broker)
        self._served[name] = time.monotonic()

    def _wait_for_its_store(self, broker: RunningBroker) -> None:
        """On a busy machine a start may open its port before the store has said whose it is: it serves nobody yet."""
        deadline = time.monotonic() + _READ_S
        while any("store away: " in line for line in broker.said) and time.monotonic() < deadline:
            if not broker.is_running:
                raise BrokerDidNotStart(broker.said)
            if any("store back: " in line for line in broker.said):
                return
            time.sleep(0.05)

    def _write(self, name: str, seconds: float) -> None:
        self._writers.append(Writing(name, self._brokers[name]))
        self._pause(seconds)

    def _copy(self, name: str, target: str) -> None:
        """As a snapshot of a machine has it: all of one moment."""
        broker = self._brokers[name]
        broker.signal(signal.SIGSTOP)
        while not all(is_stopped(each) for each in Path(f"/proc/{broker.pid}/task").iterdir()):
            time.sleep(0.001)  # A thread in the middle of a call comes to its end first.
        shutil.copytree(self._folder / name, self._folder / target)
        broker.signal(signal.SIGCONT)

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds * self._chance.uniform(0.7, 1.3))

    # What is left

    def _owner(self) -> str:
        return max((name for name in self._served if name in self._brokers), key=lambda name: self._served[name])

    def _losers(self) -> list[str]:
        return [name for name in self._brokers if name != self._owner() and self._kind != "set_back"]

    def _ended(self, name: str) -> bool:
        """Whether it has ended, with a word of why."""
        broker = self._brokers[name]
        deadline = time.monotonic() + _ENDS_S
        while broker.is_running and time.monotonic() < deadline:
            time.sleep(0.1)
        return not broker.is_running and any(word in line for line in broker.said[-20:] for word in _WORDS)

    def _facts(self, log: list[list[Any]]) -> dict[str, Any]:
        acks = [ack for writer in self._writers for ack in writer.acks]
        there = {(offset, value) for offset, value, _ in log}
        missing = [ack for ack in acks if (ack[3], ack[1]) not in there]
        kept: dict[str, list[str]] = {}
        for name in {ack[0] for ack in missing}:
            found = _held(self._kept_in[name], self._folder / "look")
            # A value ends with its record's count of headers, which is none: so `a:1` is not found in `a:11`.
            kept[name] = [ack[1] for ack in missing if ack[0] == name and ack[1].encode() + b"\0" in found]
        whole: dict[str, Any] = {"acks": acks, "served": self._served, "resumed": self._resumed}
        return whole | {"log": log, "seen": self._seen, "kept": kept, "said": self._said()}

    def _said(self) -> dict[str, list[str]]:
        return {name: broker.said[-5:] for name, broker in self._brokers.items()}

    def _read(self, broker: RunningBroker) -> list[list[Any]]:
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "duel",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
        found: list[list[Any]] = []
        deadline = time.monotonic() + _READ_S
        try:
            while time.monotonic() < deadline:
                message = consumer.poll(1)
                if message is None:
                    continue
                if message.error() is None:
                    found.append([message.offset(), message.value().decode(), message.leader_epoch()])
                elif message.error().name() == "_PARTITION_EOF":
                    return found
        finally:
            consumer.close()
        raise TimeoutError(f"the end of the topic was not reached; {len(found)} records were")


def is_stopped(thread: Path) -> bool:
    """Whether a thread does nothing until it is let go on."""
    return (thread / "stat").read_text().rpartition(")")[2].split()[0] == "T"


def _held(data: Path, look: Path) -> bytes:
    """All that a data directory still holds: the entries of its log, not what lies in files that it will use again."""
    shutil.copytree(data / "wal", look)
    with Wal.open(RealDirectory(look)) as wal:
        held = [bytes(each.payload) for each in wal.read(wal.state.first_index, 1 << 60)]
    shutil.rmtree(look)
    return b"".join([*held, *(path.read_bytes() for path in (data / "quarantine").rglob("*") if path.is_file())])
