"""Known bugs of a table of groups that is full."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

FLOOD = "tests/hostile/test_tables.py::test_a_flood_of_groups_with_offsets_gives_way"


def bug(name: str, file: str, old: str, new: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), (FLOOD,))


BUGS = [
    bug(
        "a flood of groups with offsets shuts others out until they expire",
        "coordinator/group/shards.py",
        "        if not gone:\n",
        "        if False:\n",
    ),
    bug(
        "who was here before a flood of groups goes with it",
        "coordinator/group/shards.py",
        "shard.is_fleeting(hosted, before, lived_max), kept)\n",
        "shard.is_fleeting(hosted, before, lived_max), 0)\n",
    ),
    bug(
        "who commits for long goes with a flood of groups",
        "coordinator/group/shard.py",
        "        return hosted.lived_ms < lived_ms_max and self._is_here(hosted)\n",
        "        return self._is_here(hosted)\n",
    ),
    bug(
        "a commit is no sign of life",
        "coordinator/group/offset_commits.py",
        "            hosted.heard()\n",
        "            pass\n",
    ),
    bug(
        "groups are loaded in the order of their names",
        "coordinator/group/shard.py",
        "for group_id in _by_age(loaded)]",
        "for group_id in sorted(loaded.group_ids, reverse=True)]",
    ),
]
