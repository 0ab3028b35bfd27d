"""Known ways to get the configs of brokers wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

CONFIGS = "tests/broker/test_configs.py"

PROMISES = "tests/broker/test_config_promises.py"

BUGS = [
    Bug(
        "a batch is stored in another codec than its topic's",
        (
            Edit(
                "broker/api/produce.py",
                "any(header.codec != settings.codec for header, _ in batches)",
                "False",
            ),
        ),
        (f"{PROMISES}::test_batches_are_stored_in_their_topics_codec",),
    ),
    Bug(
        "a batch that was compressed again may be of any size",
        (Edit("record/recompress.py", "    if size > size_max:\n", "    if False:\n"),),
        (f"{PROMISES}::test_a_batch_that_does_not_fit_in_its_topics_codec_is_refused",),
    ),
    Bug(
        "a broker's configs are described as often as a request names it",
        (Edit("broker/api/describe_configs.py", "        seen.add((wanted.resource_type, wanted.resource_name))", ""),),
        (f"{CONFIGS}::test_a_resource_is_described_once",),
    ),
    Bug(
        "a config of Kafka's that means nothing here can be set",
        (Edit("broker/api/alter_configs.py", "        if each.name not in BROKER_CONFIGS:\n", "        if False:\n"),),
        (f"{CONFIGS}::test_configs_of_kafka_that_mean_nothing_here_say_why",),
    ),
    Bug(
        "a default of topics that is no setting is not followed",
        (
            Edit(
                "broker/configs/dynamic.py",
                "if each.broker_name in dynamic}",
                "if each.name in static and each.broker_name in dynamic}",
            ),
        ),
        ("tests/broker/test_dynamic_configs.py::test_a_default_of_topics_that_is_no_setting_is_followed",),
    ),
    Bug(
        "what a topic cannot have it is given later",
        (Edit("broker/topics.py", "            check_topic_configs(configs, opened.topic.configs)\n", ""),),
        ("tests/broker/test_config_promises.py::test_what_cannot_be_done_is_refused_with_a_sentence",),
    ),
]
