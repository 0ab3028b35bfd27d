"""Known bugs of tables that are full."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

TABLES = "tests/hostile/test_tables.py"

BUGS = [
    Bug(
        "a full table of groups gives committed offsets up",
        (
            Edit(
                "coordinator/group/shard.py",
                "hosted.asked_at <= before and hosted.offsets.is_unused and self._is_here(hosted)",
                "hosted.asked_at <= before and self._is_here(hosted)",
            ),
        ),
        (f"{TABLES}::test_a_full_table_of_groups_takes_no_commit_back",),
    ),
    Bug(
        "offsets that were loaded are not counted",
        (Edit("coordinator/group/offsets.py", "        counted.size += self._counted.size\n", ""),),
        (f"{TABLES}::test_committed_offsets_have_a_limit_of_bytes",),
    ),
    Bug(
        "offsets that were deleted go on counting",
        (
            Edit(
                "coordinator/group/offsets.py",
                "        self._counted.size -= _size_placed(partition, self._durable.pop(partition, None))\n",
                "        self._durable.pop(partition, None)\n",
            ),
        ),
        (f"{TABLES}::test_committed_offsets_have_a_limit_of_bytes",),
    ),
]
