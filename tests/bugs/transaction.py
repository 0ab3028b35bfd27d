"""Known bugs of transactions."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

FENCING = "tests/broker/test_transaction_fencing.py"
OFFSETS = "tests/broker/test_transaction_offsets.py"
ERRORS = "tests/broker/test_transaction_errors.py"
END = "tests/coordinator/test_transaction_end.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "a coordinator that somebody made up outranks the real one",
        "broker/markers.py",
        "        self.append(partition, found, marker._replace(coordinator_epoch=known))\n",
        "        self.append(partition, found, marker)\n",
        "tests/cluster/test_transactions.py::test_a_coordinator_that_somebody_made_up_shuts_nobody_out",
    ),
    bug(
        "the only coordinator is refused for an epoch that is in the log",
        "broker/markers.py",
        "                newest = max(marker.coordinator_epoch, state.coordinator_epoch)\n",
        "                newest = marker.coordinator_epoch\n",
        f"{END}::test_the_only_coordinator_is_not_shut_out_by_a_higher_epoch",
    ),
    bug(
        "anybody decides what offsets a transaction has committed",
        "broker/api/write_txn_markers.py",
        "    if place.topic in INTERNAL and not (context.gate.is_on and place.topic == OFFSETS_TOPIC):\n",
        "    if place.topic in INTERNAL - {OFFSETS_TOPIC}:\n",
        "tests/broker/test_transaction_operators.py::test_markers_of_nobody_are_refused",
    ),
    bug(
        "a marker without an epoch is written",
        "broker/markers.py",
        "        if marker.producer_id < 0 or marker.producer_epoch < 0:\n",
        "        if False:\n",
        "tests/broker/test_transaction_operators.py::test_markers_of_nobody_are_refused",
    ),
    bug(
        "markers come before the decision",
        "coordinator/transaction/durable_transaction.py",
        "        self.move(prepared)\n        self.complete()\n",
        "        before, self.value = self.value, prepared\n        self.complete()\n        self.value = before\n"
        "        self.move(prepared)\n",
        END,
    ),
    bug(
        "a prepared transaction is not carried out after a crash",
        "coordinator/transaction/coordinator.py",
        "        for hosted in prepared:\n            hosted.complete()\n",
        "",
        END,
    ),
    bug(
        "an end is answered before it is durable",
        "coordinator/transaction/coordinator.py",
        "        after = hosted.producer_after\n        await hosted.ended()\n",
        "        after = hosted.producer_after\n",
        END,
    ),
    bug(
        "a batch is let in without asking the coordinator",
        "broker/api/produce.py",
        "        if header.is_transactional and not partition.producers.is_open(",
        "        if False and not partition.producers.is_open(",
        FENCING,
    ),
    bug(
        "an open transaction in another epoch is as good as one's own",
        "log/partition/producers.py",
        "        return state is not None and state.epoch == epoch and state.transaction_start is not None\n",
        "        return state is not None and state.transaction_start is not None\n",
        "tests/log/test_transactions.py",
    ),
    bug(
        "each transaction has the same epoch",
        "coordinator/transaction/rules.py",
        "    if before.epoch < EPOCH_LAST:\n        return prepared._replace(epoch=before.epoch + 1)\n",
        "    if before.epoch < EPOCH_LAST:\n        return prepared\n",
        FENCING,
    ),
    bug(
        "a timeout looks like the producer's own end",
        "coordinator/transaction/transaction.py",
        "FENCE_STEP = 2",
        "FENCE_STEP = 1",
        FENCING,
    ),
    bug(
        "an end of the last transaction ends this one",
        "coordinator/transaction/rules.py",
        "    if not (before.state.is_prepared or before.state.is_complete):\n        return False\n",
        "",
        FENCING,
    ),
    bug(
        "any sequence begins an epoch",
        "log/partition/producers.py",
        "            if header.base_sequence != 0:\n"
        "                raise SequenceGap(header.producer_id, 0, header.base_sequence)\n"
        "            return\n        expected",
        "            return\n        expected",
        f"{FENCING}::test_a_gap_at_the_beginning_of_an_epoch",
    ),
    bug(
        "a marker into a topic made again",
        "broker/markers.py",
        "            if state is not None and state.transaction_start is not None:\n",
        "            if True:\n",
        f"{ERRORS}::test_a_topic_that_is_deleted_under_a_transaction",
    ),
    bug(
        "undecided offsets are lost in a restart",
        "coordinator/group/shard.py",
        "        table = OffsetTable() if offsets is None else offsets",
        "        table = offsets or OffsetTable()",
        "tests/broker/test_transaction_operators.py::test_a_kill_leaves_an_open_transaction_open",
    ),
    bug(
        "offsets of an aborted transaction count",
        "coordinator/group/transaction_offsets.py",
        "        commit = marker.kind == MarkerKind.COMMIT\n",
        "        commit = True\n",
        OFFSETS,
    ),
    bug(
        "offsets count before their transaction's end is durable",
        "coordinator/group/transaction_offsets.py",
        "    durable.add_done_callback(decide)\n",
        "    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()\n    done.set_result(None)\n"
        "    decide(done)\n",
        END,
    ),
    bug(
        "what was open is not timed out after a restart",
        "coordinator/transaction/coordinator.py",
        "            if hosted.value.state is TransactionState.ONGOING:\n                hosted.set_timer()\n",
        "            pass\n",
        "tests/broker/test_transaction_operators.py::test_a_kill_leaves_an_open_transaction_open",
    ),
    bug(
        "a committed offset is undecided again once its marker is compacted away",
        "coordinator/group/loader.py",
        "        if value is not None and self._decided.is_open(header):\n",
        "        if value is not None and header.is_transactional:\n",
        f"{END}::test_committed_offsets_outlive_their_marker",
    ),
    Bug(
        "who hears of a later entry has not heard of those before it",
        (
            Edit(
                "log/journal.py",
                "        while waiting and waiting[0][0] < end:\n            _, tell, number = waiting.popleft()\n"
                "            while waiting and waiting[0][0] < end and waiting[0][1] == tell:\n"
                "                number = waiting.popleft()[2]\n"
                "            tell(number)\n",
                "        told = {}\n"
                "        while waiting and waiting[0][0] < end:\n            _, tell, number = waiting.popleft()\n"
                "            told.pop(tell, None)\n"
                "            told[tell] = number\n"
                "        for tell, number in told.items():\n"
                "            tell(number)\n",
            ),
        ),
        ("tests/log/test_told_in_order.py",),
    ),
]
