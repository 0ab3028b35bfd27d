"""Known ways to tear a transaction whose partitions and coordinator are on several brokers, or to leave it open."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

OVER = "tests/cluster/test_transactions.py"
PEERS = "tests/cluster/test_peers.py"

_COORDINATOR = "coordinator/transaction/coordinator.py"
_DURABLE = "coordinator/transaction/durable_transaction.py"
_MARKERS = "broker/peers/shared_markers.py"
_PERMITS = "broker/peers/permits.py"
_DOOR = "broker/peers/door.py"
_PROOF = "broker/peers/proof.py"

BROKEN = f"{OVER}::test_a_partition_that_is_broken_holds_no_other_up"

BUGS = [
    Bug(
        "the end of a transaction is told for ever to a partition that is broken",
        (Edit(_MARKERS, "tries >= _FAILED_AFTER and ", "False and "),),
        (BROKEN,),
    ),
    Bug(
        "a transaction is complete, though a partition that is broken has not its end",
        (Edit(_MARKERS, "                return left\n", "                return []\n"),),
        (BROKEN,),
    ),
    Bug(
        "a partition that was repaired is not told how its transactions have ended",
        (Edit(_DURABLE, "        self._timers.call_at(self._timers.now() + _REPAIRED_MS, self._try_again)\n", ""),),
        (BROKEN,),
    ),
    Bug(
        "others hear of the end of a transaction before the decision is durable",
        (
            Edit(
                _DURABLE,
                "            await self.durable()  # Before it is, nobody",
                "            # Before it is, nobody",
            ),
        ),
        (f"{OVER}::test_nobody_hears_of_a_decision_that_is_not_durable",),
    ),
    Bug(
        "a transaction is complete before all brokers have its end",
        (
            Edit(
                _MARKERS,
                "            if not left or (tries >= _FAILED_AFTER and "
                "all(state is ReachedState.LATER for _, state in found)):\n                return left\n",
                "            return []\n",
            ),
        ),
        (f"{OVER}::test_what_was_decided_is_carried_out_by_whoever_has_the_id_next", OVER),
    ),
    Bug(
        "a producer is told of a commit that others have not heard of",
        (Edit(_COORDINATOR, "        await hosted.ended()\n        return after\n", "        return after\n"),),
        (f"{OVER}::test_both_partitions_have_the_end_when_the_producer_is_answered",),
    ),
    Bug(
        "what the last coordinator has decided is not carried out by the next",
        (Edit(_COORDINATOR, "        for hosted in prepared:\n            hosted.complete()\n", ""),),
        (f"{OVER}::test_what_was_decided_is_carried_out_by_whoever_has_the_id_next",),
    ),
    Bug(
        "a batch is let in by an answer that an end has overtaken",
        (Edit(_PERMITS, "        if self._is_void or producer", "        if producer"),),
        (f"{OVER}::test_a_batch_is_refused_when_its_transaction_has_ended_while_it_was_asked_for",),
    ),
    Bug(
        "a coordinator that was ended lets batches in by what it knew",
        (Edit(_COORDINATOR, "        if hosted.value is before:\n            hosted.say_again()\n", ""),),
        (f"{OVER}::test_a_coordinator_that_was_ended_lets_nothing_in",),
    ),
    Bug(
        "a coordinator whose partition was given away lets batches in by what it knew",
        (Edit(_COORDINATOR, "        hosted.check_alive()\n", ""),),
        (f"{OVER}::test_a_coordinator_whose_partition_was_given_away_knows_nothing_any_more",),
    ),
    Bug(
        "batches of transactions are let in without a question",
        (
            Edit(
                _PERMITS,
                "            if code:\n                raise _refusal",
                "            if False:\n                raise _refusal",
            ),
        ),
        (f"{OVER}::test_what_no_coordinator_knows_of_is_not_written",),
    ),
    Bug(
        "where nothing is open nobody remembers which coordinator was the last",
        (
            Edit(
                _MARKERS,
                "            if is_open or state is None or marker.coordinator_epoch > state.coordinator_epoch:\n",
                "            if is_open:\n",
            ),
        ),
        (f"{OVER}::test_an_end_that_comes_late_ends_nothing_else",),
    ),
    Bug(
        "an end is told to nobody whose topic is not known here",
        (Edit(_MARKERS, "                await self._shared.refresh()\n", ""),),
        (f"{OVER}::test_a_topic_that_is_not_known_here_is_not_taken_for_deleted",),
    ),
    Bug(
        "transactions stay with the broker that had their partition",
        (
            Edit(
                "coordinator/runtime/internal_topic.py",
                "                close_one(number)\n            if isinstance",
                "                pass\n            if isinstance",
            ),
        ),
        (f"{OVER}::test_a_coordinator_whose_partition_was_given_away_knows_nothing_any_more",),
    ),
    Bug(
        "whoever can send the request is taken for a broker",
        (
            Edit(
                _PROOF,
                "    if not hmac.compare_digest(found[_WAY.size :], ",
                "    if not hmac and hmac.compare_digest(found[_WAY.size :], ",
            ),
        ),
        (f"{PEERS}::test_who_does_not_know_the_secret_is_no_broker",),
    ),
    Bug(
        "whoever answers is taken for the broker that was asked",
        (Edit(_PROOF, "    if not is_right:\n", "    if False:\n"),),
        (f"{PEERS}::test_an_answer_has_to_be_proven_too",),
    ),
    Bug(
        "a request of another broker counts when a later one has come before it",
        (Edit(_DOOR, "        if way.number <= last:", "        if False:"),),
        (f"{PEERS}::test_a_request_counts_once_and_never_behind_a_later_one",),
    ),
    Bug(
        "a request counts at another life than it was meant for",
        (Edit(_DOOR, "        if way.receiver != self._life:", "        if False:"),),
        (f"{PEERS}::test_a_request_counts_once_and_never_behind_a_later_one",),
    ),
    Bug(
        "a request that was meant for an earlier life shuts out those for this one",
        (
            Edit(
                _DOOR,
                "            raise RequestLate(way)  # Its",
                "            self._last[way.sender, key] = way.number\n            raise RequestLate(way)  # Its",
            ),
        ),
        (f"{PEERS}::test_a_request_counts_once_and_never_behind_a_later_one",),
    ),
    Bug(
        "where clients have to log in brokers cannot ask each other",
        (Edit("broker/net/login.py", "        elif self._server.is_peer(frame):", "        elif False:"),),
        ("tests/cluster/test_many_transactions.py::test_brokers_that_want_logins_prove_to_each_other_who_they_are",),
    ),
]
