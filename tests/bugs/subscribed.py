"""Known ways to get a subscription over several brokers wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BROKERS = "tests/subscribe/test_brokers.py::"
MOVES = (BROKERS + "test_whatever_moves_everything_comes_once_and_in_order",)
PORT = "tests/cli/test_subscribe_port.py::"
ROUTES, STREAM = "subscribe/server/routes.py", "subscribe/server/stream.py"

BUGS = [
    Bug(
        "subscribe: a partition that is led elsewhere ends, and nobody is told",
        (
            Edit(STREAM, "await self._send(messages.moved(lane.number))", "pass"),
            Edit(ROUTES, "await self._write(messages.rerouted())", "await asyncio.Event().wait()"),
        ),
        MOVES,
    ),
    Bug(
        "subscribe: routes that have changed are not told",
        (Edit(ROUTES, "if not self._is_still_so():", "if not self._is_still_so() and False:"),),
        (BROKERS + "test_a_topic_that_comes_later_at_another_broker_is_followed_from_its_beginning",),
    ),
    Bug(
        "subscribe: what changed while routes were told is not seen",
        (
            Edit(
                ROUTES,
                "        while True:  # What has changed",
                "        self._changed.clear()\n        while True:  # What has changed",
            ),
        ),
        (BROKERS + "test_a_route_that_changes_while_it_is_told_is_told_again",),
    ),
    Bug(
        "subscribe: a part of the routes is told",
        (Edit(ROUTES, "            return each\n", "            continue\n"),),
        (BROKERS + "test_who_cannot_be_asked_is_named",),
    ),
    Bug(
        "subscribe: a partition that nobody leads is waited for without end",
        (Edit(ROUTES, "if clock.monotonic() >= give_up:", "if False:"),),
        (BROKERS + "test_who_cannot_be_asked_is_named",),
    ),
    Bug(
        "subscribe: a named topic that is deleted is not missed",
        (Edit(ROUTES, "        self._check_named()\n", ""),),
        (BROKERS + "test_a_named_topic_that_is_deleted_ends_it_and_one_of_a_pattern_does_not",),
    ),
    Bug(
        "subscribe: routes are told without a lease",
        (Edit(ROUTES, "if not self._leaders.has_lease():", "if False:"),),
        (BROKERS + "test_a_stream_without_a_lease_ends",),
    ),
    Bug(
        "subscribe: a stream goes on without a lease",
        (Edit(STREAM, "if leaders is not None and not leaders.has_lease():", "if False:"),),
        (BROKERS + "test_a_stream_without_a_lease_ends",),
    ),
    Bug(
        "subscribe: a lease is looked at with heartbeats only",
        (Edit(STREAM, "        if self._site.leaders is not None:\n", "        if False:\n"),),
        (BROKERS + "test_a_silent_stream_looks_at_its_lease_each_second",),
    ),
    Bug(
        "subscribe: a client that follows one server is not told who leads the rest",
        (Edit(STREAM, 'leaders.servers().get(broker, "") if leaders is not None else ""', '""'),),
        (BROKERS + "test_a_client_that_follows_one_server_is_told_who_leads_the_rest",),
    ),
    Bug(
        "subscribe: a client that follows one server is told of routes that it does not know",
        (Edit("subscribe/server/service.py", "and asked.routes and not asked.routed", "and not asked.routed"),),
        (BROKERS + "test_a_client_that_follows_one_server_is_told_who_leads_the_rest",),
    ),
    Bug(
        "subscribe: a partition whose leader never answered starts at its beginning",
        (Edit("subscribe/client/routing.py", "0 if key in begun else 1 if key in meant else 2", "0"),),
        (
            BROKERS + "test_a_broker_that_was_away_at_first_starts_where_it_was_asked_to",
            BROKERS + "test_each_partition_starts_where_it_should",
        ),
    ),
    Bug(
        "subscribe: a partition that came later starts where the application did",
        (Edit("subscribe/client/routing.py", "1 if key in meant else 2", "1"),),
        (BROKERS + "test_a_topic_that_comes_later_at_another_broker_is_followed_from_its_beginning",),
    ),
    Bug(
        "subscribe: nobody else is asked when the one that was asked is gone",
        (Edit("subscribe/client/subscription.py", "self._means.servers.gone(failure.address)", "pass"),),
        (BROKERS + "test_the_one_that_was_asked_may_be_gone_for_good",),
    ),
    Bug(
        "subscribe: only those are asked who were given",
        (Edit("subscribe/client/session.py", "        self.means.servers.tell(source, servers.values())\n", ""),),
        (BROKERS + "test_the_one_that_was_asked_may_be_gone_for_good",),
    ),
    Bug(
        "subscribe: whoever answers at an address is believed to be who is meant",
        (Edit("subscribe/client/server_feed.py", "if keys != self._routed:", "if False:"),),
        (BROKERS + "test_a_server_with_other_partitions_than_it_was_asked_for_is_not_believed",),
    ),
    Bug(
        "subscribe: events go out before all brokers have said what they have",
        (
            Edit("subscribe/client/session.py", "            self._incoming.append(feed)\n", ""),
            Edit(
                "subscribe/client/server_feed.py",
                "self._gate = session.merge.add(-1)",
                "self._gate = session.merge.add(-1); routed and session.pump.set_state(self._gate, MergeState.ENDED)",
            ),
        ),
        (BROKERS + "test_what_is_stored_comes_as_one_broker_gives_it",),
    ),
    Bug(
        "subscribe: a move counts as an error",
        (Edit("subscribe/client/subscription.py", "if isinstance(failure, PartitionMoved):", "if False:"),),
        (BROKERS + "test_a_topic_that_comes_later_at_another_broker_is_followed_from_its_beginning",),
    ),
    Bug(
        "subscribe: a deleted topic of a pattern ends a subscription over several brokers",
        (Edit(STREAM, "if not self._asked.routed and any(", "if any("),),
        (BROKERS + "test_a_routed_topic_that_is_deleted_is_told_as_gone",),
    ),
    Bug(
        "subscribe: what is read from a partition that was dropped is believed",
        (Edit("subscribe/server/partition_reader.py", "if isinstance(partition.failure, Fenced):", "if False:"),),
        (BROKERS + "test_a_partition_that_was_dropped_under_a_read_has_moved",),
    ),
    Bug(
        "subscribe: of two streams one is behind, and what is behind a marker of it is not marked as late",
        (Edit("subscribe/merge/merge.py", ".late and not self._is_below(piece, lane.taken):", ".late:"),),
        ("tests/subscribe/test_merge.py::test_what_is_late_behind_a_marker_is_late",),
    ),
    Bug(
        "cluster: a lease does not say where subscribers are",
        (Edit("cluster/lease.py", '{"subscribe": self.subscribe, ', "{"),),
        ("tests/cluster/test_members.py::test_brokers_tell_where_their_subscribers_are",),
    ),
    Bug(
        "cluster: subscribers are told of brokers that are gone",
        (
            Edit(
                "cluster/member.py",
                "lives = self.metadata.lives.by_broker.values()\n        return {each.broker: known",
                "lives = [*self.metadata.lives.gone.values(), *self.metadata.lives.by_broker.values()]\n"
                "        return {each.broker: known",
            ),
            Edit("cluster/member.py", "        self._subscribe.pop(life.life, None)\n", ""),
        ),
        ("tests/cluster/test_members.py::test_brokers_tell_where_their_subscribers_are",),
    ),
    Bug(
        "subscribe: subscribers are told to go everywhere",
        (Edit("cli/subscribe/port.py", " and here.host not in EVERYWHERE", ""),),
        (PORT + "test_what_subscribers_are_told",),
    ),
]
