"""Known ways to get a partition log wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

MODEL = "tests/log/test_model.py::test_every_offset_is_readable_exactly_once"
FLUSH = "tests/log/test_flush.py"
APPEND = "tests/log/test_append.py"
READS = "tests/log/test_reads.py"
COMMIT = "tests/log/test_commit.py"
TRANSACTIONS = "tests/log/test_transactions.py"
TAKEOVER = "tests/log/test_takeover.py"
RECOVERY = "tests/log/test_recovery.py"
DELETE = "tests/log/test_delete_topic.py"

BUGS = [
    Bug(
        "a failed fsync that nobody waited for is kept from the loop",
        (Edit("wal/commit/rounds.py", "        self.on_stop(failure)  # Perhaps", "        pass  # Perhaps"),),
        ("tests/log/test_append.py::test_a_failed_fsync_that_nobody_waited_for_stops_everything",),
    ),
    Bug(
        "an append that finds the log stopped tells nobody else",
        (
            Edit(
                "log/journal.py",
                "            self._done(index, failure)\n            assert",
                "            raise\n            assert",
            ),
        ),
        ("tests/log/test_append.py::test_a_failed_fsync_that_nobody_waited_for_stops_everything",),
    ),
    Bug(
        "a stop whose last fsync failed is called clean",
        (Edit("cli/serve/command.py", "    failure = failure or logs.own_failure\n", ""),),
        ("tests/cli/test_serve_failed_log.py::test_a_stop_whose_last_fsync_fails_is_not_called_clean",),
    ),
    Bug(
        "a call whose caller has gone writes behind the lock",
        (Edit("log/logs.py", "            await self._ground.calls.ended(_CALLS_S)", "            pass"),),
        ("tests/log/test_close.py::test_a_call_whose_caller_has_gone_ends_before_the_directory_is_let_go",),
    ),
    Bug(
        "the tail lets go before the manifest is committed",
        (
            Edit(
                "log/partition/manifest_committer.py",
                "        await self._commit(*self._epoch_changes(), _append(info, after, stored_at))\n",
                "        partition.tail.release(info.end)\n"
                "        await self._commit(*self._epoch_changes(), _append(info, after, stored_at))\n",
            ),
        ),
        (f"{FLUSH}::test_read_during_the_flush_window", MODEL),
    ),
    Bug(
        "a flush takes what is not durable",
        (
            Edit(
                "log/partition/manifest_committer.py",
                "            if batch.end > partition.marks.durable or",
                "            if batch.end > partition.marks.log_end or",
            ),
        ),
        (f"{FLUSH}::test_only_durable_batches_are_flushed", MODEL),
    ),
    Bug(
        "the watermark moves before the fsync",
        (
            Edit(
                "log/partition/partition.py",
                'visible=self.settings.durability == "memory")',
                "visible=True)",
            ),
        ),
        (f"{APPEND}::test_the_watermark_moves_with_the_fsync_and_not_before", MODEL),
    ),
    Bug(
        "an ack does not wait for the fsync",
        (
            Edit(
                "log/partition/partition.py",
                '        if self.settings.durability == "fsync":\n            await self.durable.reached(end)\n',
                '        if self.settings.durability == "fsync":\n            await self.durable.reached(0)\n',
            ),
        ),
        (f"{APPEND}::test_the_watermark_moves_with_the_fsync_and_not_before", MODEL),
    ),
    Bug(
        "off by one in the wait",
        (
            Edit(
                "log/partition/partition.py",
                "        reached = self.high_watermark.reached(offset + 1)\n",
                "        reached = self.high_watermark.reached(offset)\n",
            ),
        ),
        ("tests/log/test_wait.py::test_wait_at_the_edge",),
    ),
    Bug(
        "a flush drops the batch that made it roll over",
        (
            Edit(
                "log/partition/state.py",
                "        self.tail.release(manifest.flushed)\n",
                "        self.tail.release(min(manifest.flushed + 1, self.marks.durable))\n",
            ),
        ),
        (f"{FLUSH}::test_a_segment_ends_before_the_batch_that_does_not_fit", MODEL),
    ),
    Bug(
        "purged one entry too far",
        (
            Edit(
                "log/pressure/purge.py",
                "journal.purge_below(needed, ",
                "journal.purge_below(min(needed + 1, journal.next_index), ",
            ),
        ),
        (f"{FLUSH}::test_the_write_ahead_log_goes_up_to_the_lowest_unflushed_entry_and_no_further", MODEL),
    ),
    Bug(
        "a repeat is acknowledged before its original",
        (
            Edit(
                "log/partition/partition.py",
                "        await self.acknowledged(end)\n",
                "        await self.acknowledged(0 if places[0].repeated else end)\n",
            ),
        ),
        (f"{APPEND}::test_a_repeat_waits_for_the_fsync_of_its_original",),
    ),
    Bug(
        "a commit without a clear answer is forgotten",
        (
            Edit(
                "log/partition/manifest_committer.py",
                "        self._unsure = True  # Until",
                "        self._unsure = False  # Until",
            ),
        ),
        (f"{COMMIT}::test_a_commit_that_arrives_late", MODEL),
    ),
    Bug(
        "a read fails when its batches are flushed and purged meanwhile",
        (
            Edit(
                "log/partition/read.py", "            except ReadBelowPurged:", "            except ZeroDivisionError:"
            ),
        ),
        (f"{FLUSH}::test_a_read_that_is_under_way_while_the_flush_commits", MODEL),
    ),
    Bug(
        "a read goes on below log start",
        (
            Edit(
                "log/partition/read.py",
                "        self._check_range(offset)\n        began =",
                "        began =",
            ),
        ),
        (f"{READS}::test_log_start_overtakes_a_read", MODEL),
    ),
    Bug(
        "aborted transactions are not in their segment",
        (
            Edit(
                "log/partition/manifest_committer.py",
                "            aborted=partition.transactions.aborted_with_marker_in(taken[0].base, taken[-1].end),\n",
                "            aborted=(),\n",
            ),
        ),
        (f"{TRANSACTIONS}::test_aborted_transactions_are_told_wherever_their_marker_is", MODEL),
    ),
    Bug(
        "the last stable offset counts markers that are not readable",
        (
            Edit(
                "log/partition/producers.py",
                "        return min(self._first_open(high_watermark), undecided, high_watermark)\n",
                "        return min(self._first_open(high_watermark), high_watermark)\n",
            ),
        ),
        (f"{TRANSACTIONS}::test_committed_reads_end_at_the_last_stable_offset", MODEL),
    ),
    Bug(
        "the manifest knows of batches that are not in its segments",
        (
            Edit(
                "log/partition/manifest_committer.py",
                "        await self._commit(*self._epoch_changes(), _append(info, after, stored_at))\n",
                "        ahead = partition.producers\n"
                "        undecided = min(ahead.open_transactions().values(), default=None)\n"
                "        after = after._replace(producers=ahead.snapshot(), undecided=undecided)\n"
                "        await self._commit(*self._epoch_changes(), _append(info, after, stored_at))\n",
            ),
        ),
        (f"{RECOVERY}::test_open_transactions_after_reopen", MODEL),
    ),
    Bug(
        "an unclean open does not raise the epoch",
        (
            Edit(
                "log/recovery/identify.py",
                "kept.of_generation(kept.identity.generation + 1)",
                "kept",
            ),
        ),
        (f"{RECOVERY}::test_unclean_open_of_a_memory_topic_is_told_to_the_reader_by_its_epoch", MODEL),
    ),
    Bug(
        "an open that fails hides an unclean stop",
        (
            Edit("log/recovery/begin.py", "        begin_generation(wal)\n", "        pass\n"),
            Edit(
                "log/recovery/identify.py",
                "    return kept.identity\n",
                "    begin_generation(wal)\n    return (read_kept(wal) or kept).identity\n",
            ),
        ),
        (f"{RECOVERY}::test_an_open_that_fails_after_an_unclean_stop_does_not_hide_it", MODEL),
    ),
    Bug(
        "a start that is cut off hides an unclean stop",
        (
            Edit("log/recovery/begin.py", "        begin_generation(wal)\n", "        pass\n"),
            Edit(
                "log/recovery/begin.py",
                "    journal = ",
                "    await calls.local(begin_generation, wal)\n    journal = ",
            ),
        ),
        (f"{RECOVERY}::test_a_start_that_is_cut_off_does_not_pass_for_a_clean_stop",),
    ),
    Bug(
        "replayed batches below flushed come twice",
        (Edit("log/recovery/replay.py", "    tail.release(flushed)\n", ""),),
        (f"{RECOVERY}::test_all_that_was_acknowledged_is_there", MODEL),
    ),
    Bug(
        "another broker's partition is not taken over",
        (
            Edit(
                "log/recovery/opening.py",
                "        taken_over = manifest.stamp.writer != journal.identity.broker\n",
                "        taken_over = False\n",
            ),
        ),
        (f"{TAKEOVER}::test_zombie_writer_fenced",),
    ),
    Bug(
        "objects of a deleted topic go before its flush has ended",
        (Edit("log/background/deletions.py", "            await self._left(topic_id, deletion)\n", ""),),
        (f"{DELETE}::test_topic_deleted_while_its_flush_is_in_flight",),
    ),
    Bug(
        "a deleted topic comes back from the write-ahead log",
        (
            Edit(
                "log/recovery/replay.py",
                "            replayed.deleted.add(content.home.topic_id)\n",
                "            pass\n",
            ),
        ),
        (f"{DELETE}::test_a_re_created_topic_shows_no_old_data",),
    ),
    Bug(
        "bytes that are not durable leave memory",
        (
            Edit(
                "log/partition/tail.py",
                "            if freed >= wanted or batch.end > durable:\n",
                "            if freed >= wanted:\n",
            ),
        ),
        ("tests/log/test_tail.py", "tests/log/test_room.py::test_bytes_that_are_not_durable_are_never_spilled"),
    ),
    Bug(
        "a store that fails is an empty answer",
        (
            Edit(
                "log/partition/read.py",
                "        except Unavailable as failure:\n"
                "            raise ColdReadFailed(partition.home.path, offset, failure) from failure\n"
                "        if found",
                "        except Unavailable:\n"
                "            return SegmentRead([], Offset(offset), 0, 0, 0, cached=False)\n"
                "        if found",
            ),
        ),
        (f"{READS}::test_storage_failing_is_never_an_empty_answer",),
    ),
    Bug(
        "a repeat behind a new batch acknowledges it",
        (
            Edit(
                "log/partition/partition.py",
                "        end = max(place.end_offset for place in places)",
                "        end = places[-1].end_offset",
            ),
        ),
        (f"{APPEND}::test_a_request_is_acknowledged_when_its_last_new_batch_is",),
    ),
    Bug(
        "whoever waits for room is not told that the logs are closed",
        (Edit("log/logs.py", "        self._tell_waiters(self._failure)\n", ""),),
        ("tests/log/test_room.py::test_whoever_is_held_back_is_told_of_the_end",),
    ),
    Bug(
        "a fenced broker's records are dropped when it comes back",
        (Edit("log/recovery/replay.py", "        _check_ours(each, manifest)\n", "        pass\n"),),
        (f"{TAKEOVER}::test_what_a_fenced_broker_acknowledged_is_not_dropped_without_a_word",),
    ),
    Bug(
        "retention by size keeps less than it promises",
        (
            Edit(
                "log/background/retention.py",
                "        too_much = 0 <= settings.retention_size <= size\n",
                "        too_much = 0 <= settings.retention_size < size + segment.size\n",
            ),
        ),
        ("tests/log/test_retention.py::test_retention_by_size_keeps_what_it_promises",),
    ),
    Bug(
        "a wait that was given up stays in memory",
        (Edit("watermark.py", "            del self._waiters[number]\n", "            pass\n"),),
        ("tests/test_watermark.py::test_who_gives_up_leaves_nothing_behind",),
    ),
    Bug(
        "a purge forgets a mark that has moved",
        (Edit("log/pressure/purge.py", "        if flushed != before[0]:", "        if not before[0]:"),),
        ("tests/log/test_flushed_marks.py::test_a_purge_saves_every_mark_that_has_moved_since_the_last",),
    ),
]
