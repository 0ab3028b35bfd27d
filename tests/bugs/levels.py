"""Known ways to write what a broker of the cluster cannot read, or to let one in that cannot."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

LEVELS = "tests/cluster/test_levels.py"
ROLLING = "tests/cluster/test_rolling.py"

_LIVES = "cluster/lives.py"
_METADATA = "cluster/metadata.py"
_LOG = "cluster/metadata_log.py"
_COPY = "cluster/metadata_copy.py"
_MEMBER = "cluster/member.py"

BUGS = [
    Bug(
        "a level is raised that a broker which lives does not know",
        (Edit(_METADATA, "    if behind := metadata.lives.behind(level):\n", "    if behind := {}:\n"),),
        (f"{LEVELS}::test_a_level_waits_until_all_who_live_know_it",),
    ),
    Bug(
        "a level goes down",
        (Edit(_METADATA, "    if level < metadata.level:\n", "    if False:\n"),),
        (f"{LEVELS}::test_a_level_waits_until_all_who_live_know_it",),
    ),
    Bug(
        "a broker joins that does not know the level",
        (Edit(_METADATA, "    if known < metadata.level:\n", "    if False:\n"),),
        (f"{LEVELS}::test_a_broker_that_does_not_know_the_level_does_not_join",),
    ),
    Bug(
        "what is written at a level has the format of before",
        (Edit(_LOG, "        return _format_at(metadata.level)\n", "        return FORMAT\n"),),
        (f"{LEVELS}::test_a_release_that_does_not_know_the_level_refuses_all_that_is_written_from_there_on",),
    ),
    Bug(
        "a release refuses the level that it knows",
        (Edit(_LOG, "_KNOWN: Final = _format_at(LEVEL)", "_KNOWN: Final = FORMAT + 0 * LEVEL"),),
        (f"{ROLLING}::test_brokers_are_replaced_by_the_next_release_under_load",),
    ),
    Bug(
        "a broker does not say which levels it knows",
        (Edit(_LIVES, "name, listeners, level, rack).to_row()", "name, listeners, rack=rack).to_row()"),),
        (f"{LEVELS}::test_a_level_waits_until_all_who_live_know_it",),
    ),
    Bug(
        "a version that is written whole forgets which levels brokers know",
        (Edit(_LIVES, '            **({"level": self.level} if self.level > FIRST else {}),\n', ""),),
        (f"{LEVELS}::test_a_level_is_kept_when_everything_is_written_whole",),
    ),
    Bug(
        "a version that is written whole forgets the level",
        (Edit(_METADATA, "            **level,\n", ""),),
        (f"{LEVELS}::test_a_level_is_kept_when_everything_is_written_whole",),
    ),
    Bug(
        "levels are written where there is only the first",
        (
            Edit(_METADATA, '{"level": self.level} if self.level > FIRST else {}', '{"level": self.level}'),
            Edit(_LIVES, '{"level": self.level} if self.level > FIRST else {}', '{"level": self.level}'),
        ),
        (f"{LEVELS}::test_nothing_is_written_of_the_first_level",),
    ),
    Bug(
        "a copy of the metadata at a level that is not known is read",
        (Edit(_COPY, "seal(KIND, FORMAT + metadata.level - FIRST, body)", "seal(KIND, FORMAT, body)"),),
        (f"{LEVELS}::test_a_copy_of_the_metadata_at_a_newer_level_is_none",),
    ),
    Bug(
        "a broker that slept while the level was raised looks for ever, where one leads",
        (
            Edit(
                _MEMBER,
                "self._log.check_not_set_back)\n            except (LifeEnded, NewerFormat, StoreSetBack)",
                "self._log.check_not_set_back)\n            except (LifeEnded, StoreSetBack)",
            ),
        ),
        (f"{LEVELS}::test_a_broker_that_slept_while_the_level_was_raised_ends",),
    ),
    Bug(
        "a broker that slept while the level was raised looks for ever, where many lead",
        (
            Edit(
                _MEMBER,
                "self._end_in_turn(each, lives)\n            except (LifeEnded, NewerFormat, StoreSetBack)",
                "self._end_in_turn(each, lives)\n            except (LifeEnded, StoreSetBack)",
            ),
        ),
        (f"{LEVELS}::test_a_broker_that_slept_while_the_level_was_raised_ends",),
    ),
    Bug(
        "the command raises a level that it does not know itself",
        (Edit("operate/levels.py", "    if level > LEVEL:\n", "    if False:\n"),),
        (f"{LEVELS}::test_a_cluster_goes_no_further_than_its_brokers_and_the_command_know",),
    ),
    Bug(
        "nobody is named who is behind",
        (Edit("operate/levels.py", "lives.behind(max(known.values()))", "lives.behind(level)"),),
        (f"{LEVELS}::test_a_cluster_goes_no_further_than_its_brokers_and_the_command_know",),
    ),
    Bug(
        "a lease does not tell the release",
        (Edit("cluster/lease.py", ', "release": self.release}', "}"),),
        (f"{LEVELS}::test_a_lease_tells_the_release",),
    ),
]
