"""Known ways to answer otherwise than Kafka does."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

AS_KAFKA = "tests/broker/test_as_kafka.py"
DYNAMIC = "tests/broker/test_dynamic_configs.py"

BUGS = [
    Bug(
        "a time-out of 0 deletes no records",
        (Edit("broker/api/delete_records.py", "max(message.timeout_ms / 1000, _OWN_S)", "message.timeout_ms / 1000"),),
        (f"{AS_KAFKA}::test_records_are_deleted_whatever_the_time_out",),
    ),
    Bug(
        "the first leader epoch is 1",
        (Edit("log/recovery/identify.py", "FIRST_GENERATION = 0", "FIRST_GENERATION = 1"),),
        (f"{AS_KAFKA}::test_the_first_leader_epoch_is_0",),
    ),
    Bug(
        "names collide with nothing",
        (
            Edit(
                "broker/topics.py",
                "        for other in self._by_plain_name.get(plain_name(name), ()):\n",
                "        for other in ():\n",
            ),
        ),
        (f"{AS_KAFKA}::test_names_that_differ_only_in_dots_and_underscores_collide",),
    ),
    Bug(
        "topics do not follow a default that is changed",
        (Edit("broker/topics.py", "        if defaults != self._defaults:\n", "        if False:\n"),),
        (f"{DYNAMIC}::test_defaults_of_topics_change_while_it_runs_and_stay",),
    ),
    Bug(
        "what was set while the broker ran is forgotten",
        (
            Edit(
                "broker/topics.py",
                "self.dynamic = DynamicConfigs(metadata.metadata.broker_configs)",
                "self.dynamic = DynamicConfigs({})",
            ),
        ),
        (f"{DYNAMIC}::test_defaults_of_topics_change_while_it_runs_and_stay",),
    ),
]
