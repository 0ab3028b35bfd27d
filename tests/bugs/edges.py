"""Known ways to go wrong at the edges: the first start of a release, a store that is away, damage while running."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

CLOCKS = "tests/log/test_clocks.py"
PRODUCER_IDS = "tests/coordinator/test_producer_ids.py"

BUGS = [
    Bug(
        "the newest time in a store is believed",
        (
            Edit(
                "io/proven_time.py",
                "        if end - start >= trust_s * 1000:\n            return end - hole_ms\n",
                "        return end\n",
            ),
        ),
        (f"{CLOCKS}::test_a_clock_that_is_ahead_at_an_upgrade_deletes_nothing",),
    ),
    Bug(
        "a jump may hide in a hole between two times",
        (Edit("io/proven_time.py", "return end - hole_ms", "return end"),),
        (f"{CLOCKS}::test_a_clock_that_is_ahead_at_an_upgrade_deletes_nothing",),
    ),
    Bug(
        "what a store proves of the time is not asked for",
        (
            Edit(
                "log/recovery/begin.py",
                "    await calls.run(keep_first, parts.objects, settings.clock_trust_ms / 1000)\n",
                "",
            ),
        ),
        (f"{CLOCKS}::test_retention_goes_on_after_an_upgrade",),
    ),
    Bug(
        "boot times of two starts of the machine are compared",
        (Edit("io/believed_time.py", "if boot and boot == self.boot else 0.0", "if boot else 0.0"),),
        ("tests/io/test_believed_time.py",),
    ),
    Bug(
        "the next block of producer ids is taken when the last is used up",
        (
            Edit(
                "coordinator/transaction/producer_ids.py",
                "        if self.left <= self._block_size // 2:\n",
                "        if self.left == 0:\n",
            ),
        ),
        (PRODUCER_IDS,),
    ),
    Bug(
        "a block of producer ids is handed out twice",
        (
            Edit(
                "coordinator/transaction/producer_ids.py",
                "self._next, self._end, self._spare = start, start + self._block_size, None",
                "self._next, self._end = start, start + self._block_size",
            ),
        ),
        (PRODUCER_IDS,),
    ),
    Bug(
        "the bytes in the place of a lost batch are not kept",
        (Edit("log/partition/mend.py", "    return [*frames.values(), *pieces]\n", "    return pieces\n"),),
        ("tests/log/test_changed_bytes.py::test_a_damaged_frame_sets_its_partition_aside_and_stops_no_other",),
    ),
]
