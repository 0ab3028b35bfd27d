"""Known ways to get damage wrong: to hide what is sound, to believe one wrong read, or to let it stop others."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

READ = "tests/log/test_damage_read.py"
HANG = "tests/log/test_hanging_store.py"
CHANGED = "tests/log/test_changed_bytes.py"
MOVED = "tests/segment/test_moved_bytes.py"
MISREAD = "tests/wal/test_misread.py"

BUGS = [
    Bug(
        "the event loop itself asks the store",
        (
            Edit(
                "log/partition/read.py",
                "            found = ground.kept.read(*wanted, **limits)\n",
                "            found = ground.reader.read(*wanted, **limits)\n",
            ),
            Edit("io/objects/off_loop.py", "        if is_on_loop():\n", "        if False:\n"),
        ),
        (f"{HANG}::test_a_fetch_of_cold_data_does_not_stop_the_loop",),
    ),
    Bug(
        "a store may be asked by the event loop",
        (Edit("io/objects/off_loop.py", "        if is_on_loop():\n", "        if False:\n"),),
        (f"{HANG}::test_a_store_cannot_be_asked_by_the_loop_itself",),
    ),
    Bug(
        "reads of the local disk wait behind the store",
        (
            Edit(
                "io/calls.py",
                "        return await self._made(self._local, lambda: call(*args, **kwargs))\n",
                "        return await self._made(self.executor, lambda: call(*args, **kwargs))\n",
            ),
        ),
        (f"{HANG}::test_the_spilled_tail_is_read_while_every_thread_of_the_store_hangs",),
    ),
    Bug(
        "damage hides the segments in front of it",
        (
            Edit(
                "log/partition/read.py",
                "at)\n                if not buffers:\n                    raise\n",
                "at)\n                if True:\n                    raise\n",
            ),
        ),
        (f"{READ}::test_what_lies_in_front_of_a_damaged_segment_is_served",),
    ),
    Bug(
        "damage hides the intervals in front of it",
        (
            Edit(
                "segment/cached/read.py",
                "        return found if found.batch_count else found.whole()\n",
                "        return found.whole()\n",
            ),
        ),
        (f"{READ}::test_sound_intervals_in_front_of_a_bad_one_are_served",),
    ),
    Bug(
        "a block that was read wrong is damage at once",
        (
            Edit(
                "segment/cached/read.py",
                "        if found.damage is not None:\n            found = self._try(segment, info, limits)\n",
                "",
            ),
        ),
        (f"{READ}::test_a_block_that_is_misread_once_is_read_again",),
    ),
    Bug(
        "a block that turned out wrong stays in the cache",
        (
            Edit(
                "segment/cached/blocks.py",
                "            self._shelf.drop((name, number))\n",
                "            pass\n",
            ),
        ),
        (f"{READ}::test_a_block_that_turned_out_wrong_is_not_kept",),
    ),
    Bug(
        "a flush trusts memory",
        (
            Edit(
                "log/partition/manifest_committer.py",
                "        header = check_same(batch, buffer)\n",
                "        header = read_header(buffer)\n",
            ),
            Edit(
                "log/partition/manifest_committer.py",
                "from holdfast.segment.manifest.changes import",
                "from holdfast.record.batch import read_header\nfrom holdfast.segment.manifest.changes import",
            ),
            Edit("segment/writer.py", "            if computed != crc:", "            if False:"),
        ),
        (f"{CHANGED}::test_a_batch_that_changed_in_memory_is_stored_as_it_was_acknowledged",),
    ),
    Bug(
        "a batch that is wrong everywhere is stored",
        (
            Edit(
                "log/partition/mend.py",
                "        if found is None:\n            raise WrongEverywhere",
                "        if found is None:\n            continue\n            raise WrongEverywhere",
            ),
            Edit("segment/writer.py", "            if computed != crc:", "            if False:"),
            Edit(
                "log/partition/manifest_committer.py",
                "        header = check_same(batch, buffer)\n",
                "        header = read_header(buffer)\n",
            ),
            Edit(
                "log/partition/manifest_committer.py",
                "from holdfast.segment.manifest.changes import",
                "from holdfast.record.batch import read_header\nfrom holdfast.segment.manifest.changes import",
            ),
        ),
        (f"{CHANGED}::test_both_copies_wrong_is_an_error_of_the_flush",),
    ),
    Bug(
        "a segment is written with a batch that does not match its crc",
        (Edit("segment/writer.py", "            if computed != crc:", "            if False:"),),
        (f"{MOVED}::test_a_batch_that_does_not_match_its_crc_is_not_written",),
    ),
    Bug(
        "a merge moves what is wrong",
        (
            Edit("segment/scan.py", "        check_crcs(piece)\n", "        pass\n"),
            Edit("segment/writer.py", "            if computed != crc:", "            if False:"),
        ),
        (f"{MOVED}::test_a_merge_does_not_move_what_is_wrong",),
    ),
    Bug(
        "a damaged frame is tried again for ever",
        (
            Edit(
                "log/background/flusher.py",
                "        if isinstance(failure, DamagedLog | WrongEverywhere) or tried_for_long:\n",
                "        if tried_for_long:\n",
            ),
        ),
        (f"{CHANGED}::test_a_damaged_frame_sets_its_partition_aside_and_stops_no_other",),
    ),
    Bug(
        "one damaged batch keeps a whole tail out of quarantine",
        (
            Edit(
                "log/partition/mend.py",
                "    except Corrupt:\n        return None\n",
                "    except ZeroDivisionError:\n        return None\n",
            ),
        ),
        (f"{CHANGED}::test_a_damaged_frame_sets_its_partition_aside_and_stops_no_other",),
    ),
    Bug(
        "a frame that is misread once is damage",
        (
            Edit(
                "wal/read.py",
                "                frame = self._read_again(found.chunk, place)\n",
                "                pass\n",
            ),
        ),
        (f"{MISREAD}::test_an_entry_that_is_misread_once_is_read_again",),
    ),
    Bug(
        "one wrong read while opening cuts or refuses the log",
        (
            Edit(
                "wal/recovery/replay.py",
                "        _walk_to_end(file, seed, tail)  # What ended it may have been one wrong read: look again.\n",
                "",
            ),
        ),
        (f"{MISREAD}::test_one_wrong_read_of_any_byte_while_opening_changes_nothing",),
    ),
    Bug(
        "damage is said to nobody",
        (Edit("log/damage.py", '        log.error("partition %s: %s", path, said)\n', ""),),
        (f"{READ}::test_damage_is_said_once_in_a_while_and_counted",),
    ),
]
