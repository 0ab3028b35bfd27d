"""One run from beginning to end: a broker, its clients, the faults, and what is there afterwards."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.torture.cast import GROUPS, KEPT_NAMES, OPTIONS, Mirror, Options, mirrors, readers, topics, writers
from tests.torture.clients.administering import Administrator, create
from tests.torture.controls import Controls
from tests.torture.disk import disk
from tests.torture.ending import end_threads, in_thread, read_everything, settle, wait_for_readers
from tests.torture.faults import Faults
from tests.torture.ground import Ground
from tests.torture.history import History
from tests.torture.proxy import Proxy
from tests.torture.sampling import Sampler
from tests.torture.schedule import Planned, schedule
from tests.torture.secured import SecuredListener
from tests.torture.store import store

from holdfast.errors import HoldfastError
from holdfast.io.disk import RealDirectory
from holdfast.testing import RunningBroker, free_port
from holdfast.wal.inspect import verify

MIB = 1 << 20
# Python with all that it loads has about 200 MiB. What may come on top is bounded by the settings below: log and tails
# 24 MiB each, cache 4 MiB, a few requests and segments under way.
RSS_MAX, HANDLES_MAX, FILES_MAX, GROWTH_MAX = 400 * MIB, 250, 60, 48 * MIB
ENTRIES_MAX = 3000  # In the log while nobody but groups writes: what comes in within some seconds, not within 30.
_IDLE_S = 30.0
FOLLOWERS = (*GROUPS, "committed", "subscriber", "everything")
ENTRY = Path(__file__).with_name("faulty_serve.py")
SETTINGS = (
    "auto.create.topics.enable=false",
    "group.initial.rebalance.delay.ms=0",
    "group.consumer.min.heartbeat.interval.ms=300",
    "group.consumer.heartbeat.interval.ms=300",
    "group.consumer.min.session.timeout.ms=8000",
    "group.consumer.session.timeout.ms=8000",
    "offsets.topic.num.partitions=2",
    "transaction.state.log.num.partitions=2",
    f"serve.disk_reserve_size={2 * MIB}",
    f"wal.chunk_size_max={MIB}",
    f"log.segment_size_max={MIB // 8}",  # Small, and checked often: everything happens many times in a short run.
    f"log.tail_size_max={MIB // 2}",
    f"log.wal_size_max={24 * MIB}",
    f"log.cache_size_max={4 * MIB}",
    "log.flush_age_ms_max=400",
    "log.flush_retry_ms_max=500",
    "log.retention_check_ms=300",
    "log.compaction_check_ms=700",
    "log.garbage_check_ms=2000",
)


@dataclass
class TortureRun:
    """The parts of one run."""

    ground: Ground
    broker: RunningBroker
    faults: Faults
    history: History
    proxies: tuple[Proxy, ...]
    mirrors: list[Mirror]
    options: Options

    def run(self, seed: int, seconds: float, administrator: Administrator) -> None:
        self.faults.start()
        self._make_topics()
        sampler = Sampler(self.broker, self.proxies, self.history)
        sampled = in_thread("sampler", sampler.run, self.ground.reading, self.history)
        reading = [in_thread(each.name, each.run, self.ground, self.history) for each in readers()]
        busy = [*writers(administrator, self.options), *self.mirrors]
        writing = [in_thread(each.name, each.run, self.ground, self.history) for each in busy]
        self.faults.run(schedule(seed, seconds, self.options.faults, secured=self.options.secured), seconds)
        self.faults.end_duel()
        self.faults.breather(Planned(0, "breather", 0, 0))
        self.ground.writing.set()
        end_threads(writing, self.ground, self.history)
        self._see_log_let_go()
        settle(self.ground, self.history)
        read_everything(self.ground, self.history, 1)
        wait_for_readers(self.ground, self.history, FOLLOWERS, KEPT_NAMES)
        for mirror in self.mirrors:
            mirror.finish(self.ground)
        self.faults.kill_and_start()
        read_everything(self.ground, self.history, 2)
        self.ground.reading.set()
        end_threads([*reading, sampled], self.ground, self.history)
        self.faults.finish()

    def _make_topics(self) -> None:
        self.history.info(
            "limits", rss=RSS_MAX, handles=HANDLES_MAX, files=FILES_MAX, growth=GROWTH_MAX, entries=ENTRIES_MAX
        )
        for topic in self.ground.topics:
            self.history.info("topic", name=topic.name, like=topic.like, partitions=topic.partitions)
            assert create(self.ground, topic), f"{topic.name} could not be made"
        if self.ground.secured is not None:
            self.ground.secured.admit(self.ground.bootstrap)

    def _see_log_let_go(self) -> None:
        """All is stored soon after the last record, and the write-ahead log holds nothing that is stored."""
        deadline = time.monotonic() + _IDLE_S
        while True:
            with suppress(OSError, HoldfastError):  # It moves while one looks.
                state = verify(RealDirectory(self.broker.data / "wal", create=False)).state
                entries = state.next_index - state.first_index
                if entries <= ENTRIES_MAX or time.monotonic() > deadline:
                    self.history.info("idle", entries=entries)
                    return
            time.sleep(0.5)


@contextmanager
def house(folder: Path, seed: int, administrator: Administrator, options: Options = OPTIONS) -> Iterator[TortureRun]:
    """A broker and two proxies, for one run; everything is under `folder`."""
    histories = folder / "histories"
    histories.mkdir(parents=True)
    controls = Controls(folder / "controls")
    kafka, subscribers = free_port(), free_port()
    with ExitStack() as stack:
        front, side = (stack.enter_context(Proxy(port)) for port in (kafka, subscribers))
        chance = random.Random(f"faults {seed}")
        behind = stack.enter_context(store(folder / "store", controls, chance, s3=options.s3, mounted=options.mounted))
        data = stack.enter_context(disk(folder / "data", controls, mounted=options.mounted))
        secured = SecuredListener(folder / "secured") if options.secured else None
        proxies: tuple[Proxy, ...] = front, side
        listener = "" if secured is None else "PLAINTEXT://"  # Otherwise it would be that of the protected one.
        own = [f"serve.store={behind.url}", f"subscribe.listen={listener}127.0.0.1:{subscribers}"]
        if secured is None:
            own.append(f"serve.advertise={front.address}")
        else:
            port = free_port()
            proxies += (stack.enter_context(Proxy(port)),)
            own += secured.settings(kafka, port, front.address, proxies[-1].address)
        given = [*SETTINGS, *own]
        broker = RunningBroker(
            data.path,
            port=kafka,
            environment={"TORTURE_CONTROLS": str(controls.path), **behind.environment},
            options=[word for each in given for word in ("--set", each)],
            entry=[str(ENTRY)],
            sets_listeners=secured is not None,
        )
        ground = Ground(front.address, side.address, histories, seed, behind, topics(options), secured)
        history = ground.history("house")
        stack.callback(history.close)
        stack.callback(broker.close)
        others = mirrors(folder, options)
        for each in others:
            stack.callback(each.close)
        history.info("made of", store=behind.name, disk=data.name)
        faults = Faults(
            broker, controls, data, behind, proxies, administrator, history, chance, ground, folder / "duels"
        )
        yield TortureRun(ground, broker, faults, history, proxies, others, options)
