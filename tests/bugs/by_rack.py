"""Known ways to lose readers between a leader and a broker in their rack, or to show them what is not theirs yet."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BY_RACK = "tests/cluster/test_by_rack.py"

_BY_RACK = "broker/fetch/by_rack.py"
_STORED = "log/partition/stored.py"
_RACKS = "broker/racks.py"

BUGS = [
    Bug(
        "racks: a new reader is taken for one that has gone",
        (Edit(_BY_RACK, "note = _Pointed(who, now, offset)", "note = _Pointed(None, now, offset)"),),
        (f"{BY_RACK}::test_nobody_is_taken_for_a_reader_that_has_gone",),
    ),
    Bug(
        "racks: committed reads go beyond the last stable offset",
        (
            Edit(
                _STORED,
                "    def last_stable(self) -> Offset:\n        return self.manifest.last_stable",
                "    def last_stable(self) -> Offset:\n        return self.manifest.flushed",
            ),
        ),
        (f"{BY_RACK}::test_only_what_is_decided_is_served_to_committed_reads",),
    ),
    Bug(
        "racks: aborted transactions are not told",
        (Edit(_STORED, "return self.manifest.segments.aborted(start, end)", "return []"),),
        (f"{BY_RACK}::test_only_what_is_decided_is_served_to_committed_reads",),
    ),
    Bug(
        "racks: committed readers are sent to what is not decided",
        (
            Edit(
                _BY_RACK,
                "if committed and offset >= manifest.last_stable:",
                "if committed and offset > manifest.flushed:",
            ),
        ),
        (f"{BY_RACK}::test_a_leader_points_nobody_to_what_is_not_decided",),
    ),
    Bug(
        "racks: who has read all that is flushed is left with nothing",
        (Edit(_BY_RACK, "if found is None and led.broker >= 0:", "if found is None and led.broker < -1:"),),
        (f"{BY_RACK}::test_what_is_flushed_is_served_and_nothing_else",),
    ),
    Bug(
        "racks: another than the leader says that an offset is out of range",
        (
            Edit(_BY_RACK, "if not start <= offset < end or wanted", "if wanted"),
            Edit(
                _BY_RACK,
                "if found.error_code or (first and not found.records):",
                "if first and not found.records and not found.error_code:",
            ),
        ),
        (f"{BY_RACK}::test_records_that_are_let_go_are_for_the_leader_to_tell",),
    ),
    Bug(
        "racks: deleted records are served for as long as somebody reads them",
        (Edit(_BY_RACK, "await stored.look(_FRESH_S)", "await stored.look(1e9)"),),
        (f"{BY_RACK}::test_records_that_are_let_go_are_for_the_leader_to_tell",),
    ),
    Bug(
        "racks: what was flushed since is never seen",
        (Edit(_BY_RACK, "await stored.look(_END_S)", "pass"),),
        (f"{BY_RACK}::test_what_is_flushed_is_served_and_nothing_else",),
    ),
    Bug(
        "racks: readers near the end are sent to and fro",
        (Edit(_BY_RACK, "offset < _far_end(manifest)", "offset < manifest.flushed"),),
        (f"{BY_RACK}::test_only_readers_far_behind_are_sent_to_their_rack",),
    ),
    Bug(
        "racks: readers in the leader's own rack are sent elsewhere",
        (Edit(_RACKS, "if not readers or self._of.get(leader) == rack:", "if not readers:"),),
        (f"{BY_RACK}::test_every_broker_gives_the_same_answer_who_reads_for_a_rack",),
    ),
    Bug(
        "racks: readers are sent to a broker that leaves",
        (
            Edit(
                _RACKS,
                "for each in lives.by_broker.values() if each.life not in lives.leaving)",
                "for each in lives.by_broker.values())",
            ),
        ),
        (f"{BY_RACK}::test_only_readers_far_behind_are_sent_to_their_rack",),
    ),
    Bug(
        "racks: a reader that got nothing is sent to the same broker again and again",
        (Edit(_BY_RACK, "before.offset == offset and now - before.at < _BACK_S", "before.offset > offset"),),
        (f"{BY_RACK}::test_a_reader_that_is_back_where_it_was_sent_from_stays_for_a_while",),
    ),
    Bug(
        "racks: a store that is away is an error that no client understands",
        (Edit(_BY_RACK, "except (HoldfastError, TimeoutError) as failure:", "except TimeoutError as failure:"),),
        (f"{BY_RACK}::test_a_store_that_is_away_and_damage_send_readers_back",),
    ),
    Bug(
        "racks: a reader of another epoch is served",
        (Edit(_BY_RACK, "if 0 <= wanted.current_leader_epoch < led.epoch:", "if wanted.current_leader_epoch < -1:"),),
        (f"{BY_RACK}::test_epochs_are_held_against_the_leaders",),
    ),
    Bug(
        "racks: partitions of deleted topics stay open",
        (Edit(_BY_RACK, "        topics.on_change.append(self._drop_unneeded)\n", ""),),
        (f"{BY_RACK}::test_what_is_open_is_bounded_and_let_go",),
    ),
    Bug(
        "racks: as many partitions of others are open as anybody asks for",
        (Edit(_BY_RACK, "if len(self._open) > READERS_MAX:", "if len(self._open) > 10**9:"),),
        (f"{BY_RACK}::test_what_is_open_is_bounded_and_let_go",),
    ),
    Bug(
        "racks: a session does not hear that it is sent elsewhere",
        (Edit("broker/fetch/sessions.py", "if is_plain and answer.preferred_read_replica < 0 and", "if is_plain and"),),
        (f"{BY_RACK}::test_an_answer_that_sends_a_session_elsewhere_is_never_left_out",),
    ),
]
