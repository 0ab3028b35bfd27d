"""Known ways to get the offsets, the waits and the configs of share groups wrong, and the limits of consumer groups."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

MOVED = "tests/broker/test_share_offsets.py"
CONFIGS = "tests/broker/test_dynamic_configs.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "a share group is moved under its members",
        "coordinator/share/coordinator.py",
        "        if group.rules.members:\n            raise GroupNotEmpty(group_id)\n        return group\n",
        "        return group\n",
        f"{MOVED}::test_a_group_without_members_is_moved",
    ),
    bug(
        "where a share group was moved to is not kept",
        "coordinator/share/durable_share.py",
        "forget(self.tick)\n        self._kept.changed()\n        self._tell()\n\n    # What",
        "forget(self.tick)\n        self._tell()\n\n    # What",
        f"{MOVED}::test_a_group_without_members_is_moved",
        f"{MOVED}::test_what_was_moved_stays_moved",
    ),
    bug(
        "a share group's place comes back after it was deleted",
        "coordinator/share/coordinator.py",
        "                partition.delete()\n                if number",
        "                if number",
        f"{MOVED}::test_what_was_moved_stays_moved",
    ),
    bug(
        "a verdict on what was held before a share group was moved is taken",
        "coordinator/share/durable_share.py",
        "        self.rules = SharePartition(Image(start, ()))\n",
        "        self.rules.start = start\n",
        f"{MOVED}::test_a_group_without_members_is_moved",
    ),
    bug(
        "a share group begins at the end whatever the duration",
        "coordinator/share/first_offset.py",
        "    return end if found is None else min(found[0], end)\n",
        "    return end\n",
        f"{MOVED}::test_a_group_begins_by_duration",
    ),
    bug(
        "the smallest size of a share fetch is not waited for",
        "broker/api/share_fetch.py",
        "        if left <= 1:\n            return True\n",
        "        return True\n",
        f"{MOVED}::test_a_fetch_waits_for_its_smallest_size",
    ),
    bug(
        "a share fetch does not wake up for what comes while it waits for more",
        "broker/share/reading.py",
        "        while self._size < size_max and self._end < end:\n",
        "        while self._size < size_max and self._end < end and not self._size:\n",
        f"{MOVED}::test_a_fetch_waits_for_its_smallest_size",
    ),
    Bug(
        "share groups read any number of partitions",
        (
            Edit(
                "coordinator/share/coordinator.py",
                "        if self._partition_count >= self.settings.partitions_max:\n",
                "        if False:\n",
            ),
            Edit(
                "coordinator/share/coordinator.py",
                "len(starts.keys() - group.partitions.keys()) > self.settings.partitions_max",
                "0 > self.settings.partitions_max",
            ),
        ),
        (f"{MOVED}::test_share_groups_and_their_partitions_are_bounded",),
    ),
    bug(
        "a group's own config from outside of the broker's limits is taken",
        "broker/configs/group.py",
        "    return Config(name, ConfigKind.INT, default, effect, low=low, high=high, broker_name=",
        "    return Config(name, ConfigKind.INT, default, effect, low=1, broker_name=",
        f"{CONFIGS}::test_a_group_has_times_of_its_own",
    ),
    bug(
        "what a group has of its own stays outside of limits that have changed",
        "broker/configs/group.py",
        "        found.append(min(max(int(own.get(name, getattr(settings, field))), low), high))\n",
        "        found.append(int(own.get(name, getattr(settings, field))))\n",
        f"{CONFIGS}::test_what_a_group_may_have_follows_the_broker_s_settings",
    ),
    bug(
        "the first of the assignors is not the default",
        "coordinator/group/consumer/core.py",
        "self.settings.consumer_assignors[0]",
        '"uniform"',
        f"{CONFIGS}::test_assignors_are_those_of_the_setting",
    ),
]
