"""LogLives of a log on a simulated disk: each opens it, does things at random, and ends by a crash."""

from __future__ import annotations

import random
from collections import Counter

from tests.wal.model import Model, version_of

from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk.simulated import PowerCut, SimulatedDisk
from holdfast.wal import DamagedLog, LogId, Vote, Wal, WalFailed, WalSettings
from holdfast.wal.inspect import dump

LIVES_PER_SEED = 5
BLOCK_SIZE = 4096
FAULTS = ("write", "sync", "sync", "rename", "create", "remove", "sync_names")
ACTIONS = ("append", "truncate", "purge", "commit", "vote", "user data", "flush", "mark", "read", "meanwhile")
WEIGHTS = (40, 4, 6, 6, 4, 2, 30, 3, 2, 4)


class LogLives:
    """All lives of one seed: one disk, one model, one source of chance."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._disk = SimulatedDisk(SeededChance(seed))
        self._model = Model()
        self._older: dict[str, bytes] = {}  # The files' bytes before the last flush.
        self.counts: Counter[str] = Counter()

    def run(self, lives: int = LIVES_PER_SEED) -> None:
        for life in range(lives):
            self._settings = self._choose_settings(keep_pages=life % 2 == 0)
            self._disk.crash_at = self._disk.calls + self._random.randrange(70)
            if self._random.random() < 0.25:
                self._disk.fail_next(self._random.choice(FAULTS), after=self._random.randrange(12))
            quiet = self._live(life)
            self._crash()
            if quiet and self._random.random() < 0.5:
                self._lose_a_block()
        self._disk.crash_at = None
        self._model.check(version_of(self._open()))

    def _choose_settings(self, *, keep_pages: bool) -> WalSettings:
        choose = self._random.choice
        return WalSettings(
            chunk_size_max=choose((4096, 4096, 6000)),
            chunk_entries_max=choose((3, 10, 1000)),
            zero_ahead_size=choose((0, 512, 2048)),
            spares_max=choose((0, 1, 2)),
            cache_entries_max=choose((0, 5, 1000)),
            cache_open_chunk=choose((False, True)),
            keep_pages=keep_pages,
        )

    def _open(self) -> Wal:
        chance = SeededChance(self._random.getrandbits(32))
        return Wal.open(self._disk, self._settings, clock=ManualClock(), chance=chance, threaded=False)

    def _live(self, life: int) -> bool:
        """Whether it ended in silence: closed, or with a marker behind all that was written."""
        self._failed = False
        try:
            wal = self._open()
            self.counts["opened"] += 1
            self._model.check(version_of(wal))  # Once it was read it must stay.
            for _ in range(self._random.randrange(80)):
                getattr(self, "_" + self._random.choices(ACTIONS, WEIGHTS)[0].replace(" ", "_"))(wal, life)
            mark = self._model.mark
            if self._random.random() < 0.3:
                self._mark(wal, life)
                self.counts["idle"] += 1
                return True
            wal.close()
            if not self._failed:
                self._model.acknowledge(mark)
            self.counts["closed"] += 1
            return not self._failed
        except PowerCut:
            self.counts["crashed"] += 1
        except WalFailed:
            self.counts["failed"] += 1
            if self._random.random() < 0.5:
                wal.close()  # And perhaps open it again in the same process.
        except OSError:
            self.counts["failed to open"] += 1
        return False

    def _crash(self) -> None:
        if self._random.random() < 0.5:
            self._disk.kill()
            self.counts["killed"] += 1
        else:
            self._disk.power_cut()
            self.counts["power cut"] += 1

    def _lose_a_block(self) -> None:
        """One of the last blocks of a silent log is lost: everything is there all the same, or the open says so."""
        name = max(name for name in self._disk.names() if name.endswith(".wal"))
        content = self._disk.content(name)
        last = max((line.offset for line in dump(self._disk) if line.chunk == name), default=0)
        at = max(last // BLOCK_SIZE - self._random.choice((0, 1, 1, 2, 3)), 0) * BLOCK_SIZE
        size = min(BLOCK_SIZE, len(content) - at)
        before = bytes(content[at : at + size])
        older = self._older.get(name, b"")[at : at + size].ljust(size, b"\0")
        self._disk.lose_block(name, at, self._random.choice((bytes(size), self._random.randbytes(size), older)))
        try:
            self._model.check(version_of(self._open()))
            self.counts["block not needed"] += 1
            self._disk.kill()
        except DamagedLog:
            self.counts["lost block told"] += 1
            self._disk.lose_block(name, at, before)

    # What a life does. The log first: what it refuses, or dies of, is not in the model.

    def _append(self, wal: Wal, life: int) -> None:
        now = self._model.now
        first = LogId(max(now.last_epoch, life), now.next_index)
        size = self._random.choice((0, 10, 10, 50, 200, 1500))
        tag = self._random.getrandbits(32)
        count = self._random.choice((1, 1, 1, 2, 5, 12))
        payloads = [b"%d.%d." % (tag, first.index + number) * (size // 10 + 1) for number in range(count)]
        if self._random.random() < 0.5:
            wal.append(first, payloads)
            self._model.append(first, payloads)
            return
        for number, payload in enumerate(payloads):
            log_id = LogId(first.epoch, first.index + number)
            wal.append_one(log_id, (payload,))
            self._model.append(log_id, [payload])

    def _truncate(self, wal: Wal, life: int) -> None:
        now = self._model.now
        index = self._random.randint(max(now.first_index, now.next_index - 15), now.next_index)
        wal.truncate(index)
        self._model.truncate(index)

    def _purge(self, wal: Wal, life: int) -> None:
        now = self._model.now
        if now.entries and self._random.random() < 0.9:
            upto = now.entries[self._random.randrange(len(now.entries))][0]
        else:  # Beyond the last entry.
            upto = LogId(max(now.last_epoch, life), now.next_index + self._random.randrange(5))
        wal.purge(upto)
        self._model.purge(upto)

    def _commit(self, wal: Wal, life: int) -> None:
        now = self._model.now
        ids = [entry[0] for entry in now.entries if now.committed is None or entry[0].index >= now.committed.index]
        if ids:
            log_id = self._random.choice(ids)
            wal.commit(log_id)
            self._model.commit(log_id)

    def _vote(self, wal: Wal, life: int) -> None:
        vote = Vote(max(life, self._model.now.vote.epoch if self._model.now.vote else 0), 1 << 40)
        wal.save_vote(vote)
        self._model.save_vote(vote)

    def _user_data(self, wal: Wal, life: int) -> None:
        data = bytes([life]) * self._random.choice((0, 10, 900))
        wal.save_user_data(data)
        self._model.save_user_data(data)

    def _flush(self, wal: Wal, life: int) -> None:
        self._older = {name: bytes(self._disk.content(name)) for name in self._disk.names()}
        mark = self._model.mark

        def told(failure: Exception | None) -> None:
            if failure is None:
                self._model.acknowledge(mark)
                self.counts["acknowledged"] += 1
            else:
                self._failed = True

        wal.flush(told)

    def _mark(self, wal: Wal, life: int) -> None:
        mark = self._model.mark
        wal.mark()
        self._model.acknowledge(mark)

    def _read(self, wal: Wal, life: int) -> None:
        wal.drain_cache_evictable()
        assert version_of(wal) == self._model.now, "what the log gives back is not what was put into it"

    def _meanwhile(self, wal: Wal, life: int) -> None:
        """While the next sync is under way, other things happen."""

        def other() -> None:
            self._disk.during_sync = None
            for name in self._random.choices(("_append", "_truncate", "_purge", "_commit", "_vote"), k=4):
                getattr(self, name)(wal, life)

        self._append(wal, life)
        self._disk.during_sync = other
        try:
            self._flush(wal, life)
        finally:
            self._disk.during_sync = None
