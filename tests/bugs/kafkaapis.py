"""Known ways to answer otherwise than Kafka does."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

AS_KAFKA = "tests/broker/test_as_kafka.py"

BUGS = [
    Bug(
        "a time-out of 0 deletes no records",
        (Edit("broker/api/delete_records.py", "max(message.timeout_ms / 1000, _OWN_S)", "message.timeout_ms / 1000"),),
        (f"{AS_KAFKA}::test_records_are_deleted_whatever_the_time_out",),
    ),
    Bug(
        "the first leader epoch is 1",
        (Edit("log/identify.py", "FIRST_GENERATION = 0", "FIRST_GENERATION = 1"),),
        (f"{AS_KAFKA}::test_the_first_leader_epoch_is_0",),
    ),
    Bug(
        "names collide with nothing",
        (
            Edit(
                "broker/topics.py",
                "        for other in self._by_plain_name.get(_plain(name), ()):\n",
                "        for other in ():\n",
            ),
        ),
        (f"{AS_KAFKA}::test_names_that_differ_only_in_dots_and_underscores_collide",),
    ),
]
