"""Known ways to get a write-ahead log wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SEARCH = "tests/wal/test_crash_search.py::test_ten_thousand_crashes[0]"

BUGS = [
    Bug(
        "the system's memory lets go of what is not durable yet",
        (
            Edit(
                "wal/commit/rounds.py",
                "                self._writer.write(round_)\n                self._note_durable(round_)\n",
                "                self._writer.uncache(round_)\n"
                "                self._writer.write(round_)\n                self._note_durable(round_)\n",
            ),
        ),
        ("tests/wal/test_pages.py::test_only_what_is_durable_is_let_go_of",),
    ),
    Bug(
        "the system's memory lets go of the block in which the next round begins",
        (Edit("wal/commit/writer.py", "end = durable_end - durable_end % _UNCACHED_SIZE", "end = durable_end"),),
        ("tests/wal/test_pages.py::test_only_what_is_durable_is_let_go_of",),
    ),
    Bug(
        "a block of a file that is used again is read before it is written",
        (Edit("wal/commit/writer.py", "[: min(-end % BLOCK_SIZE, left)]", "[:0]"),),
        ("tests/wal/test_pages.py::test_a_round_in_a_file_that_is_used_again_ends_with_zeros",),
    ),
    Bug(
        "of every chunk but the first the system's memory keeps all that is written",
        (Edit("wal/commit/writer.py", "        self._uncached_end = 0\n\n", "\n"),),
        ("tests/wal/test_pages.py::test_only_what_is_durable_is_let_go_of",),
    ),
    Bug(
        "ack before fsync",
        (
            Edit(
                "wal/commit/rounds.py",
                "                self._writer.write(round_)\n"
                "                self._note_durable(round_)\n"
                "                round_.finish(None)\n",
                "                round_.finish(None)\n"
                "                self._writer.write(round_)\n"
                "                self._note_durable(round_)\n",
            ),
        ),
        ("tests/wal/test_flush.py::test_one_fsync_for_all_who_wait", SEARCH),
    ),
    Bug(
        "no fsync at all",
        (
            Edit(
                "wal/commit/writer.py",
                "self._write_at(round_.start, round_.buffers, round_.size)\n        self._file.sync()\n",
                "self._write_at(round_.start, round_.buffers, round_.size)\n",
            ),
        ),
        (SEARCH,),
    ),
    Bug(
        "fsync retried after it failed",
        (
            Edit(
                "wal/commit/writer.py",
                "self._write_at(round_.start, round_.buffers, round_.size)\n        self._file.sync()\n",
                "self._write_at(round_.start, round_.buffers, round_.size)\n"
                "        try:\n"
                "            self._file.sync()\n"
                "        except OSError:\n"
                "            self._file.sync()\n",
            ),
        ),
        ("tests/wal/test_failures.py::test_a_failed_fsync_is_never_repeated", SEARCH),
    ),
    Bug(
        "the log goes on after a failure",
        (
            Edit(
                "wal/commit/rounds.py",
                "            self._stop(failure)  # Never retry an fsync: the pages may already be gone.\n",
                "            self._writing = []\n",
            ),
        ),
        ("tests/wal/test_failures.py::test_a_failure_stops_the_log_for_good",),
    ),
    Bug(
        "torn tail kept: the next head counts it as part of the chunk before",
        (
            Edit(
                "wal/recovery/replay.py",
                "recovered.predecessor, recovered.predecessor_end = link.name.id, end\n",
                "recovered.predecessor = link.name.id\n"
                "            recovered.predecessor_end = tail.end if link is links[-1] and tail.torn else end\n",
            ),
        ),
        ("tests/wal/test_torn.py",),
    ),
    Bug(
        "torn tail kept: frames behind a bad one are taken, too",
        (
            Edit(
                "wal/format/walk.py",
                "        if end > total or crc32c(view[offset + 4 : end], seed) != crc or found != mark:\n"
                "            break\n",
                "        if end > total or found != mark:\n            break\n"
                "        if crc32c(view[offset + 4 : end], seed) != crc:\n"
                "            offset = end\n"
                "            continue\n",
            ),
        ),
        ("tests/wal/test_torn.py",),
    ),
    Bug(
        "crc not checked",
        (
            Edit("wal/format/walk.py", "crc32c(view[offset + 4 : end], seed) != crc or found", "found"),
            Edit("wal/format/frame.py", " or crc32c(data[offset + 4 : end], seed) != crc:", ":"),
        ),
        ("tests/wal/test_damage.py", "tests/wal/test_torn.py"),
    ),
    Bug(
        "chunk removed before its purge is durable",
        (
            Edit("wal/commit/rounds.py", "                if round_.freed:\n", "                if False:\n"),
            Edit(
                "wal/commit/rounds.py",
                "                self._writer.write(round_)\n",
                "                self._writer.recycle(round_.freed)\n                self._writer.write(round_)\n",
            ),
        ),
        ("tests/wal/test_purge.py",),
    ),
    Bug(
        "chunk freed with a live entry in it",
        (
            Edit(
                "wal/chunks/index.py", "following.first_index > first_index", "following.first_index > first_index + 1"
            ),
        ),
        ("tests/wal/test_purge.py",),
    ),
    Bug(
        "recycled frame replayed: the crc does not know its chunk",
        (Edit("wal/format/frame.py", 'return crc32c(struct.pack("<QQ", chunk_id, salt))', "return 7"),),
        ("tests/wal/test_purge.py", "tests/wal/test_forged.py", SEARCH),
    ),
    Bug(
        "forged frames: the crc knows the chunk's id but no salt",
        (Edit("wal/format/frame.py", 'struct.pack("<QQ", chunk_id, salt)', 'struct.pack("<QQ", chunk_id, 0)'),),
        ("tests/wal/test_forged.py",),
    ),
    Bug(
        "off by one at the roll-over by size",
        (
            Edit(
                "wal/log.py",
                "self._chunk.end + size > self._chunk_size_max",
                "self._chunk.end + size >= self._chunk_size_max",
            ),
        ),
        ("tests/wal/test_roll_over.py",),
    ),
    Bug(
        "off by one at the roll-over by count",
        (Edit("wal/log.py", "self._chunk_entries + count > self", "self._chunk_entries + count >= self"),),
        ("tests/wal/test_roll_over.py",),
    ),
    Bug(
        "off by one in where the chunk before ends",
        (Edit("wal/log.py", "before.name.id, before.end, self._end", "before.name.id, before.end - 1, self._end"),),
        ("tests/wal/test_roll_over.py",),
    ),
    Bug(
        "head written before what it proves",
        (
            Edit(
                "wal/commit/writer.py",
                "        if carried:\n",
                "        self._write_at(0, head, head_size)\n        self._file.sync()\n        if carried:\n",
            ),
        ),
        ("tests/wal/test_open.py", SEARCH),
    ),
    Bug(
        "names not synced before the first write",
        (
            Edit(
                "wal/commit/writer.py",
                "        self._directory.sync_names()\n        if self._file is None:\n",
                "        if self._file is None:\n            self._directory.sync_names()\n",
            ),
        ),
        ("tests/wal/test_roll_over.py", SEARCH),
    ),
    Bug(
        "recycled name not synced before the first write",
        (
            Edit(
                "wal/commit/writer.py",
                "        self._directory.sync_names()\n        if self._file is None:\n",
                "        if self._file is not None:\n            self._directory.sync_names()\n        else:\n",
            ),
        ),
        ("tests/wal/test_purge.py", SEARCH),
    ),
    Bug(
        "proof rule dropped: damage is cut like a torn tail",
        (Edit("wal/format/scan.py", "if bad < round_start <= offset and", "if False and"),),
        ("tests/wal/test_damage.py",),
    ),
    Bug(
        "proof rule too strict: a torn round counts as damage",
        (
            Edit(
                "wal/format/scan.py",
                "if bad < round_start <= offset and round_ > last_round",
                "if round_ >= last_round",
            ),
        ),
        ("tests/wal/test_torn.py", SEARCH),
    ),
    Bug(
        "replayed tail not made durable",
        (
            Edit(
                "wal/recovery/replay.py",
                "        tail.end = last[walk.OFFSET] + last[walk.SIZE]\n",
                "        tail.end = tail.proven = last[walk.OFFSET] + last[walk.SIZE]\n",
            ),
        ),
        ("tests/wal/test_open.py", SEARCH),
    ),
    Bug(
        "closing marker in the round it should prove",
        (
            Edit(
                "wal/commit/rounds.py",
                "            if self._queue:  # A marker proves only what was durable before its own round was"
                " written.\n"
                "                self._begin(creates_chunk=False)\n",
                "",
            ),
        ),
        ("tests/wal/test_marker.py",),
    ),
    Bug(
        "entries cut inside a frame are read again",
        (
            Edit(
                "wal/read.py",
                "min(index + appended.entry_count, end)",
                "index + appended.entry_count",
            ),
        ),
        ("tests/wal/test_truncate.py",),
    ),
    Bug(
        "a cut forgets the rounds in flight",
        (Edit("wal/log.py", "round_.next_index = min(round_.next_index, index)", "pass"),),
        ("tests/wal/test_truncate.py",),
    ),
    Bug(
        "callbacks out of order",
        (
            Edit(
                "wal/commit/rounds.py",
                "            if last is not None:\n",
                "            if pending and last is not None:\n",
            ),
        ),
        ("tests/wal/test_flush.py",),
    ),
    Bug(
        "an interrupted append goes on",
        (Edit("wal/atomic_change.py", "        if failure is not None:\n", "        if False:\n"),),
        ("tests/wal/test_interrupt.py",),
    ),
    Bug(
        "a flush leaves small entries behind that have no frame yet",
        (
            Edit(
                "wal/log.py",
                "        self._frame_all()\n        return self._rounds.flush(callback)\n",
                "        return self._rounds.flush(callback)\n",
            ),
        ),
        ("tests/wal/test_runs.py::test_a_run_is_one_frame", SEARCH),
    ),
    Bug(
        "a record overtakes small entries that came before it",
        (Edit("wal/log.py", "        self._end_run()\n        with self._whole:\n", "        with self._whole:\n"),),
        ("tests/wal/test_runs.py::test_every_other_record_comes_behind_the_run",),
    ),
    Bug(
        "small entries fill a queue that is full",
        (
            Edit(
                "wal/log.py",
                "room = min(self._settings.shared_frame_size_max, chunk_room, self._rounds.room)",
                "room = min(self._settings.shared_frame_size_max, chunk_room)",
            ),
        ),
        ("tests/wal/test_runs.py::test_a_run_is_no_way_round_the_queue",),
    ),
    Bug(
        "vote may go backwards",
        (Edit("wal/state.py", "if self.vote is not None and vote < self.vote:", "if False:"),),
        ("tests/wal/test_rules.py",),
    ),
    Bug(
        "a log that grows while one looks is called damaged",
        (Edit("wal/recovery/replay.py", "if not scan.is_frame(file, seed, tail.end):", "if True:"),),
        ("tests/wal/test_inspect.py",),
    ),
]
