"""Known ways to lead a partition twice, or to lose the tail of one."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

LEADS = "tests/cluster/test_leads.py"

LEADERS = "tests/cluster/test_leaders.py"
WRONG = "tests/cluster/test_goes_wrong.py"

MANY = "tests/cluster/test_many.py"

_LEADS = "cluster/leads.py"
_LEADERSHIP = "log/ownership/leadership.py"
_SETTLE = "log/recovery/settle.py"
_OPENING = "log/recovery/opening.py"
_SHARED = "broker/shared_topics.py"

SILENT = "tests/cluster/test_many_stores.py::test_a_broker_that_stops_waits_for_no_store_that_says_nothing"

LEFTOVERS = "tests/cluster/test_leftovers.py"
_LEFTOVERS = "log/ownership/leftovers.py"

BUGS = [
    Bug(
        "cluster: the leader of everything waits for a store that says nothing when it stops",
        (Edit("cli/serve/cluster.py", ", is_heard=lambda: member.is_heard)", ")"),),
        (
            "tests/cluster/test_many_stores.py::"
            "test_the_leader_of_everything_waits_for_no_store_that_says_nothing_when_it_stops",
        ),
    ),
    Bug(
        "cluster: only who has a partition of a topic open deletes its objects",
        (
            Edit(
                _SHARED,
                "            self._to_delete.add(opened.topic.topic_id)  # Perhaps nobody leads any of it.\n",
                "",
            ),
        ),
        (f"{LEFTOVERS}::test_a_topic_that_nobody_leads_is_deleted_by_who_is_asked",),
    ),
    Bug(
        "cluster: who leads a topic that another broker deletes leaves what it has put meanwhile",
        (Edit(_SHARED, "        self._to_delete.add(topic.topic_id)\n", ""),),
        (f"{LEFTOVERS}::test_who_leads_a_topic_that_another_deletes_deletes_what_it_has_put_meanwhile",),
    ),
    Bug(
        "cluster: nobody goes on with the deletions of a broker that is gone",
        (Edit(_LEFTOVERS, "if not is_eldest or not (self._has_gone", "if True or not (self._has_gone"),),
        (f"{LEFTOVERS}::test_what_a_lost_broker_was_deleting_is_deleted_by_another",),
    ),
    Bug(
        "cluster: leftovers are looked for before the one that is gone is settled, and not behind",
        (Edit(_LEFTOVERS, " - len(lives.by_broker) - len(lives.over)", " - len(lives.by_broker)"),),
        (f"{LEFTOVERS}::test_what_a_lost_broker_was_deleting_is_deleted_by_another",),
    ),
    Bug(
        "cluster: what arrives late of a deleted topic stays",
        (Edit(_LEFTOVERS, "now + 2 * GRACE_S if self._has_gone else _NEVER", "_NEVER"),),
        (f"{LEFTOVERS}::test_what_a_lost_broker_was_deleting_is_deleted_by_another",),
    ),
    Bug(
        "cluster: a topic that cannot be deleted keeps all behind it",
        (Edit(_LEFTOVERS, "gather(*some, return_exceptions=True)", "gather(*some)"),),
        (f"{LEFTOVERS}::test_a_topic_that_cannot_be_deleted_keeps_no_other",),
    ),
    Bug(
        "cluster: what is deleted is deleted in a store that was put back",
        (Edit(_LEFTOVERS, "            await self._environment.calls.run(self._check)\n", ""),),
        (f"{LEFTOVERS}::test_nothing_is_deleted_in_a_store_that_was_put_back",),
    ),
    Bug(
        "cluster: leftovers that could not be deleted are forgotten",
        (
            Edit(
                _LEFTOVERS,
                "        count = await self._delete(metadata)\n",
                "        self._has_gone = False\n        count = await self._delete(metadata)\n",
            ),
        ),
        (f"{LEFTOVERS}::test_leftovers_that_cannot_be_deleted_are_looked_for_again",),
    ),
    Bug(
        "cluster: partitions that are given away together are given one by one",
        (
            Edit(
                _LEADERSHIP,
                "            some, self._gives = self._gives, []\n",
                "            some, self._gives = self._gives[:1], self._gives[1:]\n",
            ),
        ),
        (f"{LEADERS}::test_partitions_that_are_given_away_together_go_together",),
    ),
    Bug(
        "cluster: a partition that cannot be given keeps others from being given",
        (Edit(_LEADERSHIP, "            if len(some) > 1:  # One", "            if len(some) > 99:  # One"),),
        (f"{LEADERS}::test_a_partition_that_cannot_be_given_keeps_no_other_from_it",),
    ),
    Bug(
        "cluster: word of a newer version is sent while another is on its way",
        (Edit("broker/peers/pokes.py", "if life.life in self._under_way:", "if life.life in self._again:"),),
        ("tests/cluster/test_peers.py::test_one_word_at_a_time_is_on_its_way_to_another_broker",),
    ),
    Bug(
        "cluster: who was told of an older version is not told of a newer one",
        (
            Edit(
                "broker/peers/pokes.py",
                "                if life.life not in self._again:\n                    return\n",
                "                return\n",
            ),
        ),
        ("tests/cluster/test_peers.py::test_one_word_at_a_time_is_on_its_way_to_another_broker",),
    ),
    Bug(
        "cluster: a broker that stops hands over for as long as a store says nothing",
        (Edit("broker/draining.py", "not doing.done() and is_heard() and", "not doing.done() and"),),
        (SILENT,),
    ),
    Bug(
        "cluster: a broker that stops flushes for as long as a store says nothing",
        (Edit("broker/leading.py", "FAILED_CLOSE_MS if is_cut_off else None", "None"),),
        (SILENT,),
    ),
    Bug(
        "cluster: a broker says that it leaves for as long as a store says nothing",
        (
            Edit(
                "cluster/member.py",
                "asyncio.wait_for(self._end(self._life), _LEAVE_S if self.is_heard else _UNHEARD_LEAVE_S)",
                "self._end(self._life)",
            ),
        ),
        (SILENT,),
    ),
    Bug(
        "cluster: a broker that stops leaves rounds behind and does not say so",
        (Edit("broker/leading.py", "            tell_left(failure, self._logs.partitions)\n", ""),),
        (SILENT,),
    ),
    Bug(
        "partitions that come together are opened one after the other",
        (
            Edit(
                "broker/shared_topics.py",
                "    tasks = [asyncio.ensure_future(each) for each in works]\n",
                "    return [await each for each in works]\n",
            ),
        ),
        ("tests/cluster/test_leaders.py::test_partitions_that_come_together_are_opened_together",),
    ),
    Bug(
        "cluster: who is alone goes on with a store that many led, when all have left it",
        (Edit("broker/running.py", "    if is_spread:  # Whoever", "    if False:  # Whoever"),),
        (f"{WRONG}::test_whoever_does_not_belong_to_a_cluster_is_refused_in_one_sentence",),
    ),
    Bug(
        "metrics: what a broker asks of the store to say that it lives is not counted",
        (
            Edit(
                "cli/serve/surroundings.py",
                "    return timings.objects(objects) if timings else objects\n",
                "    return objects\n",
            ),
        ),
        (f"{MANY}::test_a_broker_that_others_cannot_reach_is_told",),
    ),
    Bug(
        "cluster: nobody notices that the store was put back",
        (Edit("cluster/version_log.py", "if newest is None or newest < known:", "if newest is None:"),),
        (f"{WRONG}::test_brokers_end_when_their_store_is_put_back[many]",),
    ),
    Bug(
        "cluster: a broker that ends writes what it knew into a store that was put back",
        (Edit("cluster/version_log.py", "        if self._set_back is not None:\n", "        if False:\n"),),
        (f"{WRONG}::test_brokers_end_when_their_store_is_put_back[many]",),
    ),
    Bug(
        "cluster: what was not followed to its end is taken for followed",
        (Edit(_SHARED, "                self.is_late = True\n                raise\n", "                raise\n"),),
        (f"{LEADERS}::test_what_was_not_followed_to_its_end_is_tried_again",),
    ),
    Bug(
        "a partition is given away while its leader lives",
        (Edit(_LEADS, " or (life != by and lives.has(life))", ""),),
        (f"{LEADS}::test_a_row_changes_hands_by_its_own_life_or_when_that_is_over",),
    ),
    Bug(
        "a partition is given by what its row said before",
        (Edit(_LEADS, "if self.of(home) != before:", "if False:"),),
        (f"{LEADS}::test_of_two_that_give_the_same_partition_one_does_not_fit",),
    ),
    Bug(
        "a life that is over gives partitions away",
        (Edit(_LEADS, "        if not lives.has(by):\n", "        if False:\n"),),
        (f"{LEADS}::test_a_life_that_is_over_gives_and_is_given_nothing",),
    ),
    Bug(
        "a partition is given to a life that is over",
        (Edit(_LEADS, "            if to not in brokers:\n", "            if False:\n"),),
        (f"{LEADS}::test_a_life_that_is_over_gives_and_is_given_nothing",),
    ),
    Bug(
        "a life that is over changes topics",
        (Edit("cluster/metadata.py", "    metadata.lives.check(broker, life)\n", ""),),
        (f"{LEADS}::test_a_life_that_is_over_gives_and_is_given_nothing",),
    ),
    Bug(
        "a partition has another leader in the same epoch",
        (Edit(_LEADS, "new_epoch <= epoch", "new_epoch < epoch"),),
        (f"{LEADS}::test_epochs_only_grow_also_above_those_of_one_leader",),
    ),
    Bug(
        "one leads everything where each partition has a leader",
        (
            Edit(
                "cluster/metadata.py", "    if metadata.leads.is_spread:\n        raise", "    if False:\n        raise"
            ),
        ),
        (f"{LEADS}::test_leadership_by_partition_begins_once_and_when_nobody_lives",),
    ),
    Bug(
        "lives count on below series that are there",
        (Edit("cluster/lives.py", "last=max(self.last, number)", "last=self.last"),),
        (f"{LEADS}::test_leadership_by_partition_begins_once_and_when_nobody_lives",),
    ),
    Bug(
        "a partition is handed over before all of it is flushed",
        (
            Edit(
                "log/logs.py",
                "while partition.is_storing or partition.marks.log_end > partition.marks.flushed:",
                "for _ in range(1):",
            ),
        ),
        (LEADERS,),
    ),
    Bug(
        "a series is settled that is not sealed",
        (
            Edit(
                _SETTLE,
                "    series.seal(why)\n    return read_series(series, executor)",
                "    return look_at_series(series, executor or ThreadPoolExecutor(1), Series.get)",
            ),
            Edit(_SETTLE, "takeover import read_series", "takeover import look_at_series"),
            Edit(_SETTLE, "futures import Executor", "futures import Executor, ThreadPoolExecutor"),
        ),
        (LEADERS,),
    ),
    Bug(
        "a leader serves before its epoch is in the manifest",
        (
            Edit(
                _OPENING,
                "        partition.epochs.note(epoch, partition.marks.log_end)\n        await partition.take_over()\n",
                "        partition.epochs.note(epoch, partition.marks.log_end)\n",
            ),
        ),
        (f"{LEADERS}::test_a_leader_has_its_epoch_in_the_manifest_before_it_serves",),
    ),
    Bug(
        "what could not be settled is given away",
        (Edit(_SETTLE, "                failed[home] = failure\n                return None\n", ""),),
        (LEADERS,),
    ),
    Bug(
        "partitions are given as they are, and not as they were settled",
        (Edit(_LEADERSHIP, "Lead(life, floor if epochs is None else epochs[home])", "metadata.leads.of(home)"),),
        (LEADERS,),
    ),
    Bug(
        "nothing of a life that is over is settled",
        (Edit(_SETTLE, "entries_left(rounds, homes)", "entries_left([], homes)"),),
        (LEADERS,),
    ),
    Bug(
        "a partition goes on where it was when it is not known whether it was given away",
        (
            Edit(
                _LEADERSHIP,
                '                log.debug("whether %s is given away is not known: %s", home.path, failure)\n',
                "                return\n",
            ),
        ),
        (f"{LEADERS}::test_a_partition_whose_giving_has_no_answer_is_served_by_nobody",),
    ),
    Bug(
        "a partition is opened in an epoch that is past",
        (Edit(_OPENING, "        if manifests.manifest.epoch > epoch:\n", "        if False:\n"),),
        (f"{LEADERS}::test_nobody_opens_a_partition_in_an_epoch_that_is_past",),
    ),
    Bug(
        "a life that cannot be settled whole is read again all the time",
        (Edit(_LEADERSHIP, "            if self._is_due(life):\n", "            if True:\n"),),
        (f"{LEADERS}::test_a_partition_that_cannot_be_settled_keeps_its_row_and_nobody_else_waiting",),
    ),
    Bug(
        "a series is forgotten while a row names its life",
        (
            Edit(_LEADERSHIP, "        if not metadata.leads.led_by(life):\n", "        if True:\n"),
            Edit("cluster/metadata.py", "    for home in metadata.leads.led_by(life):\n", "    for home in []:\n"),
        ),
        (f"{LEADERS}::test_a_partition_that_cannot_be_settled_keeps_its_row_and_nobody_else_waiting",),
    ),
    Bug(
        "a partition that is being handed over is opened again",
        (
            Edit(_SHARED, "if lead.life != self.life or home in self._moving:", "if lead.life != self.life:"),
            Edit(_SHARED, "is_due = is_ours and home not in self._moving", "is_due = is_ours"),
        ),
        (f"{LEADERS}::test_a_partition_whose_giving_has_no_answer_is_served_by_nobody",),
    ),
    Bug(
        "a broker that would lead alone joins those who lead together, and is given partitions",
        (Edit("cluster/member.py", 'if metadata.leads.is_spread and self._settings.leaders == "one":', "if False:"),),
        ("tests/cluster/test_members.py::test_who_would_lead_alone_does_not_join_those_who_lead_together",),
    ),
    Bug(
        "partitions are given to a broker that is leaving",
        (
            Edit(
                _LEADS,
                "    counts = {each.life: 0 for each in lives.staying}\n",
                "    counts = {each.life: 0 for each in lives.eldest_first}\n",
            ),
        ),
        (f"{LEADS}::test_who_leaves_is_given_nothing",),
    ),
    Bug(
        "a broker that is to be drained leads on",
        (Edit("broker/leading.py", "        if self._life.life in lives.leaving:", "        if False:"),),
        (f"{MANY}::test_a_broker_is_drained_and_stopped_and_nobody_waits",),
    ),
    Bug(
        "a producer is not told where a partition has gone",
        (
            Edit(
                "broker/api/produce.py",
                "        if isinstance(failure, LedElsewhere) and failure.broker >= 0:\n",
                "        if False:\n",
            ),
        ),
        (f"{MANY}::test_a_broker_is_drained_and_stopped_and_nobody_waits",),
    ),
    Bug(
        "a reader is told who leads, and not where that is",
        (Edit("broker/api/fetch.py", "        if request.version < ENDPOINTS_FROM or", "        if request or"),),
        (f"{MANY}::test_a_broker_is_drained_and_stopped_and_nobody_waits",),
    ),
    Bug(
        "an opening that failed behind whoever waited for it is told as an error of the program",
        (Edit(_OPENING, "            task.exception()", "            pass"),),
        ("tests/rounds/test_store_log.py::test_an_opening_that_nobody_waits_for_any_more_ends_quietly",),
    ),
]
