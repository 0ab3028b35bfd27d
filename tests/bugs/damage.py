"""Known ways to get damage wrong: to hide what is sound, to believe one wrong read, or to let it stop others."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

READ = "tests/log/test_damage_read.py"
HANG = "tests/log/test_hanging_store.py"

BUGS = [
    Bug(
        "the event loop itself asks the store",
        (
            Edit(
                "log/read.py",
                "            found = ground.kept.read(info, offset, budget.bytes_left, **limits)\n",
                "            found = ground.reader.read(info, offset, budget.bytes_left, **limits)\n",
            ),
            Edit("io/off_loop.py", "        if is_on_loop():\n", "        if False:\n"),
        ),
        (f"{HANG}::test_a_fetch_of_cold_data_does_not_stop_the_loop",),
    ),
    Bug(
        "a store may be asked by the event loop",
        (Edit("io/off_loop.py", "        if is_on_loop():\n", "        if False:\n"),),
        (f"{HANG}::test_a_store_cannot_be_asked_by_the_loop_itself",),
    ),
    Bug(
        "reads of the local disk wait behind the store",
        (
            Edit(
                "io/calls.py",
                "        return await loop.run_in_executor(self._local, lambda: call(*args, **kwargs))\n",
                "        return await loop.run_in_executor(self.executor, lambda: call(*args, **kwargs))\n",
            ),
        ),
        (f"{HANG}::test_the_spilled_tail_is_read_while_every_thread_of_the_store_hangs",),
    ),
    Bug(
        "damage hides the segments in front of it",
        (
            Edit(
                "log/read.py",
                "            except (Corrupt, ColdReadFailed):\n                if not buffers:\n",
                "            except (Corrupt, ColdReadFailed):\n                if True:\n",
            ),
        ),
        (f"{READ}::test_what_lies_in_front_of_a_damaged_segment_is_served",),
    ),
    Bug(
        "damage hides the intervals in front of it",
        (
            Edit(
                "segment/read.py",
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
                "segment/read.py",
                "        if found.damage is not None:\n            found = self._try(segment, info, limits)\n",
                "",
            ),
        ),
        (f"{READ}::test_a_segment_that_is_misread_once_is_read_again",),
    ),
    Bug(
        "a block that turned out wrong stays in the cache",
        (
            Edit(
                "segment/blocks.py",
                "            self._shelf.drop((name, number))\n",
                "            pass\n",
            ),
        ),
        (f"{READ}::test_a_block_that_turned_out_wrong_is_not_kept",),
    ),
]
