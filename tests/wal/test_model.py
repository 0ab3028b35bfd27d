"""The log against a plain list: whatever is done to both, in whatever order, they say the same."""

from __future__ import annotations

import logging
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from tests.wal.model import Model, version_of

from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import LogId, Vote, Wal, WalSettings
from holdfast.wal.inspect import verify

SIZES = st.sampled_from([0, 1, 40, 500, 1500, 5000])


class LogMachine(RuleBasedStateMachine):
    """One log on a simulated disk, and one model."""

    def __init__(self) -> None:
        super().__init__()
        logging.disable(logging.CRITICAL)

    def teardown(self) -> None:
        logging.disable(logging.NOTSET)

    @initialize(
        seed=st.integers(0, 1 << 16),
        entries_max=st.sampled_from([1, 3, 10, 1000]),
        spares_max=st.sampled_from([0, 2]),
        zero_ahead_size=st.sampled_from([0, 1024]),
        shared_frame_size_max=st.sampled_from([0, 200, 4096]),
        cache_entries_max=st.sampled_from([0, 4, 1000]),
        cache_open_chunk=st.booleans(),
    )
    def begin(self, seed: int, entries_max: int, **given: Any) -> None:
        self.disk = SimulatedDisk(SeededChance(seed))
        self.chance = SeededChance(seed + 1)
        self.settings = WalSettings(chunk_size_max=4096, chunk_entries_max=entries_max, **given)
        self.model = Model()
        self.tag = 0
        self.open()

    def open(self) -> None:
        self.wal = Wal.open(self.disk, self.settings, clock=ManualClock(), chance=self.chance, threaded=False)

    @property
    def room_above_commit(self) -> int:
        committed, now = self.model.now.committed, self.model.now
        return now.next_index - max(now.first_index, committed.index if committed else 0)

    # Records

    @rule(count=st.integers(1, 8), size=SIZES, epochs=st.sampled_from([0, 0, 0, 1, 5]))
    def append(self, count: int, size: int, epochs: int) -> None:
        self.tag += 1
        first = LogId(self.model.now.last_epoch + epochs, self.model.now.next_index)
        payloads = [(b"%d.%d." % (self.tag, number)).ljust(size, b".") for number in range(count)]
        self.wal.append(first, payloads)
        self.model.append(first, payloads)

    @rule(count=st.integers(1, 8), size=SIZES, epochs=st.sampled_from([0, 0, 0, 1, 5]))
    def append_one_by_one(self, count: int, size: int, epochs: int) -> None:
        self.tag += 1
        for number in range(count):
            log_id = LogId(self.model.now.last_epoch + epochs, self.model.now.next_index)
            payload = (b"%d.%d." % (self.tag, number)).ljust(size, b".")
            self.wal.append_one(log_id, (payload[:3], memoryview(payload)[3:]))
            self.model.append(log_id, [payload])

    @rule(back=st.integers(0, 20))
    def truncate(self, back: int) -> None:
        now = self.model.now
        index = max(now.next_index - back, now.first_index)
        self.wal.truncate(index)
        self.model.truncate(index)

    @rule(part=st.floats(0, 1))
    def purge(self, part: float) -> None:
        entries = self.model.now.entries
        if entries:
            upto = entries[int(part * (len(entries) - 1))][0]
            self.wal.purge(upto)
            self.model.purge(upto)

    @rule(beyond=st.integers(0, 5))
    def purge_beyond(self, beyond: int) -> None:
        upto = LogId(self.model.now.last_epoch, self.model.now.next_index + beyond)
        self.wal.purge(upto)
        self.model.purge(upto)

    @precondition(lambda self: self.room_above_commit > 0 and self.model.now.entries)
    @rule(part=st.floats(0, 1))
    def commit(self, part: float) -> None:
        entries = self.model.now.entries[-self.room_above_commit :]
        log_id = entries[int(part * (len(entries) - 1))][0]
        self.wal.commit(log_id)
        self.model.commit(log_id)

    @rule(epochs=st.integers(0, 2), node=st.integers(0, 3))
    def vote(self, epochs: int, node: int) -> None:
        now = self.model.now.vote or Vote(0, 0)
        vote = max(now, Vote(now.epoch + epochs, node))
        self.wal.save_vote(vote)
        self.model.save_vote(vote)

    @rule(data=st.binary(max_size=1024))
    def user_data(self, data: bytes) -> None:
        self.wal.save_user_data(data)
        self.model.save_user_data(data)

    # Durability and looking

    @rule()
    def flush(self) -> None:
        told: list[Exception | None] = []
        self.wal.flush(told.append)
        assert told == [None]
        self.model.acknowledge(self.model.mark)

    @rule()
    def mark(self) -> None:
        self.wal.mark()
        self.model.acknowledge(self.model.mark)

    @rule()
    def read_all(self) -> None:
        assert version_of(self.wal) == self.model.now

    @rule(start=st.integers(0, 30), count=st.integers(0, 30), drain=st.booleans())
    def read_some(self, start: int, count: int, drain: bool) -> None:
        if drain:
            self.wal.drain_cache_evictable()
        entries = self.model.now.entries[start : start + count]
        first = self.model.now.first_index + start
        found = tuple((entry.log_id, bytes(entry.payload)) for entry in self.wal.read(first, first + count))
        assert found == entries

    @rule()
    def figures(self) -> None:
        stat = self.wal.stat()
        assert stat.state.last == self.model.now.last
        assert (stat.queued_size == 0) == (stat.durable == stat.end)

    # Ends and new beginnings

    @rule()
    def reopen(self) -> None:
        self.wal.close()
        self.model.acknowledge(self.model.mark)
        assert verify(self.disk).clean
        self.begin_again()
        assert self.wal.opened.clean

    @rule()
    def kill(self) -> None:
        self.disk.kill()
        self.begin_again()

    @rule()
    def power_cut(self) -> None:
        self.disk.power_cut()
        self.begin_again()

    def begin_again(self) -> None:
        assert verify(self.disk).sound
        self.open()
        self.model.check(version_of(self.wal))


def test_the_log_and_a_plain_list_say_the_same() -> None:
    """W2, W3, W5, W8, W10: any order of records, flushes, reads, reopens, kills and power cuts."""
    run_state_machine_as_test(
        LogMachine,
        settings=settings(
            max_examples=150,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
