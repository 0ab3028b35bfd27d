"""Known ways to lead a cluster twice, too early, or never."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

LIVES = "tests/cluster/test_lives.py"
PAIR = "tests/cluster/test_pair.py"
MEMBERS = "tests/cluster/test_members.py"
TAILS = "tests/operate/test_round_tails.py"

_LIVES = "cluster/lives.py"
_LEASE = "cluster/lease.py"
_MEMBER = "cluster/member.py"

MANY = "tests/cluster/test_many.py"

BUGS = [
    Bug(
        "a broker that ends is missing from answers until somebody notices",
        (
            Edit(
                _LIVES,
                "dict([*self._gone_but(broker), (broker, self.by_broker[broker])][-GONE_MAX:])",
                "dict(self._gone_but(broker))",
            ),
        ),
        (f"{MEMBERS}::test_no_answer_is_without_a_broker_that_has_just_gone",),
    ),
    Bug(
        "clients are told for ever of a broker that has gone",
        (Edit(_MEMBER, " if self._gone_at[each.life] > since}", "}"),),
        (f"{MEMBERS}::test_no_answer_is_without_a_broker_that_has_just_gone",),
    ),
    Bug(
        "a broker that is back is told of where it was",
        (
            Edit(_MEMBER, "known = {**gone, **lives.by_broker}", "known = {**lives.by_broker, **gone}"),
            Edit(_LIVES, "by_broker=lives, gone=MappingProxyType(dict(self._gone_but(broker))))", "by_broker=lives)"),
        ),
        (f"{MEMBERS}::test_a_broker_that_is_back_elsewhere_is_told_of_where_it_is",),
    ),
    Bug(
        "a version that is written whole forgets who has gone",
        (Edit(_LIVES, ", **over, **leaving, **gone}", ", **over, **leaving}"),),
        (f"{LIVES}::test_of_brokers_that_have_gone_the_last_are_remembered_until_they_are_back",),
    ),
    Bug(
        "a broker that is alone claims a cluster's store before it looks who is there",
        (Edit("broker/running.py", "if settings.check_store and not settings.is_member:", "if False:"),),
        (f"{PAIR}::test_a_broker_that_is_alone_is_refused_on_a_store_that_others_share",),
    ),
    Bug(
        "tools take what was flushed in an earlier epoch for the tail",
        (
            Edit(
                "log/rounds/seen.py",
                "lead.life == life and epoch >= lead.epoch",
                "lead.life == life",
            ),
        ),
        ("tests/operate/test_round_tails.py::test_a_partition_that_has_moved_and_come_back_is_seen_once",),
    ),
    Bug(
        "groups of a broker that is gone are left out before others have them",
        (
            Edit(
                "client/nodes.py", "                if self._may_lead(number, topic):\n                    raise\n", ""
            ),
        ),
        (f"{MANY}::test_groups_are_listed_though_a_broker_is_gone_that_clients_are_still_told_of",),
    ),
    Bug(
        "groups that nobody has read yet are left out of the list of all",
        (
            Edit(
                "broker/api/list_groups.py",
                "            return Code.COORDINATOR_LOAD_IN_PROGRESS\n",
                "            pass\n",
            ),
        ),
        (f"{MANY}::test_groups_are_listed_though_a_broker_is_gone_that_clients_are_still_told_of",),
    ),
    Bug(
        "a member that asks for its offsets is told that the coordinator is elsewhere",
        (
            Edit(
                "broker/api/offset_fetch.py",
                "            code = Code.COORDINATOR_LOAD_IN_PROGRESS\n",
                "            pass\n",
            ),
        ),
        (f"{MANY}::test_offsets_while_groups_and_topics_are_elsewhere",),
    ),
    Bug(
        "nobody is told of a broker that others cannot reach",
        (Edit("broker/peers/reach.py", "            return failure\n", "            return None\n"),),
        (f"{MANY}::test_a_broker_that_others_cannot_reach_is_told",),
    ),
    Bug(
        "a life that others have ended still counts as the leader",
        (Edit(_LIVES, "leader = NOBODY if self.leader == life else self.leader", "leader = self.leader"),),
        (f"{LIVES}::test_an_ended_leader_leads_no_more",),
    ),
    Bug(
        "a second broker takes the lead over from a live one",
        (Edit(_LIVES, "if self.leader not in (NOBODY, life):", "if False:"),),
        (f"{LIVES}::test_of_two_that_take_over_at_once_one_leads",),
    ),
    Bug(
        "the number of an ended life is used again",
        (
            Edit(
                _LIVES,
                '{**row, "life": self.last + 1}',
                '{**row, "life": max((each.life for each in self.by_broker.values()), default=0) + 1}',
            ),
        ),
        (f"{LIVES}::test_a_life_has_a_number_that_no_other_ever_has",),
    ),
    Bug(
        "lives are written in a format that earlier releases take for theirs",
        (
            Edit(
                "cluster/metadata_log.py",
                "return FORMAT_ONE_LEADER if metadata.lives.last else FORMAT_ALONE",
                "return 2",
            ),
        ),
        (f"{LIVES}::test_earlier_releases_refuse_a_cluster_and_open_a_broker_that_is_alone",),
    ),
    Bug(
        "time passes while the store does not answer",
        (
            Edit(_LEASE, "        self._looked_at = None\n\n    @property", "        pass\n\n    @property"),
            Edit(_LEASE, "min(now - self._looked_at, self._step_s_max)", "now - self._looked_at"),
        ),
        (f"{LIVES}::test_no_time_passes_while_the_store_does_not_answer",),
    ),
    Bug(
        "the sleep of an observer counts as the silence of others",
        (Edit(_LEASE, "min(now - self._looked_at, self._step_s_max)", "now - self._looked_at"),),
        (f"{LIVES}::test_no_time_passes_while_the_observer_sleeps",),
    ),
    Bug(
        "a life is silent after one look",
        (Edit(_LEASE, " and self._looks > LOOKS_MIN", ""),),
        (f"{LIVES}::test_a_life_whose_beat_stands_still_is_silent",),
    ),
    Bug(
        "the lease counts from the end of a beat that took long, and not at all from what the owner saw",
        (Edit(_MEMBER, "seen = min(self.beat_at, owner_seen_at)", "seen = self.beat_at"),),
        (f"{MEMBERS}::test_who_is_not_seen_to_own_the_store_has_no_lease",),
    ),
    Bug(
        "a broker without a lease seems to be none to those who come",
        (
            Edit(
                "broker/net/connection.py",
                "        if isinstance(failure, Unavailable):\n            self._reset_if_new()\n",
                "",
            ),
        ),
        ("tests/cluster/test_pair.py::test_a_leader_that_is_cut_off_from_the_store_answers_nobody",),
    ),
    Bug(
        "a leader does not look whether it was ended",
        (Edit(_MEMBER, "        if not lives.has(self.life.life):\n", "        if False:\n"),),
        (f"{MEMBERS}::test_a_leader_that_was_stopped_has_no_lease_when_it_goes_on",),
    ),
    Bug(
        "a leader that hears no answers of the store counts as alive",
        (
            Edit(
                _MEMBER,
                "began, beat = self._clock.boottime(), self._beat + 1\n",
                "began = self._clock.boottime()\n        self._beat = beat = self._beat + 1\n",
            ),
        ),
        (f"{MEMBERS}::test_a_leader_that_hears_nothing_of_the_store_is_taken_over",),
    ),
    Bug(
        "a broker that leaves does not say so",
        (Edit(_MEMBER, "await self._calls.run(self._log.commit, end(life))", "pass"),),
        (f"{MEMBERS}::test_a_leader_that_leaves_is_followed_within_two_looks",),
    ),
    Bug(
        "a broker waits for its own last life to fall silent",
        (Edit(_MEMBER, "before.place != me.place and not await", "not await"),),
        (f"{MEMBERS}::test_a_broker_that_comes_back_to_its_place_does_not_wait_for_itself",),
    ),
    Bug(
        "a broker takes the number of another that lives",
        (Edit(_MEMBER, "and not await self._falls_silent(before):", "and False:"),),
        (f"{MEMBERS}::test_a_number_that_lives_elsewhere_is_refused_and_one_that_is_silent_is_not",),
    ),
    Bug(
        "brokers that have gone stay in the cluster",
        (Edit(_MEMBER, "await self._end_silent(lives)", "pass"),),
        (f"{MEMBERS}::test_the_leader_ends_others_that_fall_silent",),
    ),
    Bug(
        "rounds are counted that nobody can read any more, behind one that never came",
        (
            Edit(
                "log/rounds/takeover.py",
                "end = next(number for number in range(start, numbers[-1] + 2) if number not in taken)",
                "end = numbers[-1] + 1 + 0 * len(taken)",
            ),
            Edit("log/rounds/takeover.py", "range(start, end)))\n", "[each for each in numbers if each >= start]))\n"),
        ),
        (f"{TAILS}::test_rounds_behind_one_that_never_came_do_not_count",),
    ),
    Bug(
        "a round that is missing below a seal is passed over by tools",
        (Edit("log/rounds/takeover.py", "        if above_is_sealed:\n", "        if False:\n"),),
        (f"{TAILS}::test_a_round_that_is_missing_is_not_passed_over",),
    ),
    Bug(
        "tools see nothing of what is only in rounds",
        (Edit("log/rounds/seen.py", "    if not series:\n", "    if series:\n"),),
        (f"{TAILS}::test_the_tail_of_a_live_log_is_seen_and_left_alone",),
    ),
    Bug(
        "cluster: a broker that stands by answers no probe",
        (
            Edit(
                "cli/serve/cluster.py", "    if metrics is not None:\n        watched", "    if False:\n        watched"
            ),
        ),
        (f"{PAIR}::test_a_leader_that_leaves_is_followed_at_once",),
    ),
    Bug(
        "cluster: a broker that stands by says that it is ready",
        (
            Edit(
                "cli/serve/metrics.py",
                "        self._unready = watched.unready\n",
                '        self._unready = lambda: ""\n',
            ),
        ),
        (f"{PAIR}::test_a_leader_that_leaves_is_followed_at_once",),
    ),
    Bug(
        "cluster: a broker that has taken over still says that it waits",
        (
            Edit(
                "cli/serve/metrics.py",
                "        self._unready = lambda: _unready(context.logs)\n",
                "        self._unready = self._unready if self._is_open else lambda: _unready(context.logs)\n",
            ),
        ),
        (f"{PAIR}::test_a_leader_that_leaves_is_followed_at_once",),
    ),
]
