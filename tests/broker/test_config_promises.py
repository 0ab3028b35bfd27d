"""K11: a topic config does what Kafka says of it, or is refused with a sentence."""

from __future__ import annotations

import time

import pytest
from tests.broker.wire import Wire, batch, create_topic, end_offset, fetch, keyed, produce, read, values

from holdfast.broker.configs.topic import TOPIC_CONFIGS
from holdfast.protocol.api import Key
from holdfast.record.batch import split


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("compression.gzip.level", "6", "a codec has one level here"),
        ("min.insync.replicas", "2", "one broker"),
        ("remote.storage.enable", "true", "no second place"),
        ("local.retention.ms", "1000", "no second place"),
        ("file.delete.delay.ms", "7200000", "from 0 to 3600000"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(
    wire: Wire, topic: str, name: str, value: str, why: str
) -> None:
    """K11: at creation and later; the default is taken. The test of K11."""
    wanted = {"name": topic, "num_partitions": 1, "replication_factor": 1, "assignments": []}
    configs = [{"name": name, "value": value}]
    [made] = wire.ask(
        Key.CREATE_TOPICS, 7, topics=[wanted | {"configs": configs}], timeout_ms=5000, validate_only=False
    ).topics
    assert made.error_code == 40
    assert why in made.error_message
    create_topic(wire, topic, **{name.replace(".", "_"): TOPIC_CONFIGS[name].default})
    changes = [{"name": name, "config_operation": 0, "value": value}]
    resources = [{"resource_type": 2, "resource_name": topic, "configs": changes}]
    [changed] = wire.ask(Key.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources).responses
    assert changed.error_code == 40
    assert why in changed.error_message


def test_every_config_says_what_it_does() -> None:
    """K11: or why it does nothing; what is said is for people, and held by the tests of each."""
    assert not [each.name for each in TOPIC_CONFIGS.values() if not each.effect]


def test_the_least_lag_of_compaction_is_not_above_the_largest(wire: Wire, topic: str) -> None:
    """K11: as Kafka says."""
    lags = [{"name": "min.compaction.lag.ms", "value": "10"}, {"name": "max.compaction.lag.ms", "value": "9"}]
    wanted = {"name": topic, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": lags}
    [made] = wire.ask(Key.CREATE_TOPICS, 7, topics=[wanted], timeout_ms=5000, validate_only=False).topics
    assert made.error_code == 40


@pytest.mark.parametrize("sent", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(("kind", "stored"), [("uncompressed", 0), ("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)])
@pytest.mark.parametrize("validates", ["true", "false"])
def test_batches_are_stored_in_their_topics_codec(
    wire: Wire, topic: str, kind: str, stored: int, sent: int, validates: str
) -> None:
    """K11: whatever a producer sends; the records, and what is known of the producer, stay the same."""
    create_topic(wire, topic, compression_type=kind, holdfast_validate_records=validates)
    made = [b"%d" % number * 100 for number in range(20)]
    known = {"producer_id": 77, "producer_epoch": 0, "base_sequence": 0}
    assert produce(wire, topic, batch(*made, codec=sent, **known)).base_offset == 0
    again = produce(wire, topic, batch(*made, codec=sent, **known))
    assert (again.error_code, again.base_offset) == (0, 0)
    assert produce(wire, topic, batch(b"x", codec=sent)).base_offset == 20
    found = fetch(wire, topic).records
    assert values(found) == [*made, b"x"]
    assert [header.codec for header, _ in split(found)] == [stored, stored]
    assert end_offset(wire, topic) == 21


def test_a_batch_that_does_not_fit_in_its_topics_codec_is_refused(wire: Wire, topic: str) -> None:
    """K11: the limit holds for what is stored, too."""
    create_topic(wire, topic, compression_type="uncompressed", max_message_bytes="20000")
    assert produce(wire, topic, batch(bytes(50_000), codec=4)).error_code == 10
    assert produce(wire, topic, batch(bytes(10_000), codec=4)).error_code == 0
    assert end_offset(wire, topic) == 1


def test_a_compacted_topic_is_seen_compacted_within_its_seconds(wire: Wire, topic: str) -> None:
    """K11: with small segments and a low dirty ratio, on a broker with default settings."""
    create_topic(wire, topic, cleanup_policy="compact", segment_ms="1000", min_cleanable_dirty_ratio="0.01")
    for number in range(5):
        produce(wire, topic, keyed((b"k", b"%d" % number), (b"other%d" % number, b"x")))
    deadline = time.monotonic() + 15
    while len(read(fetch(wire, topic).records)) > 6:
        assert time.monotonic() < deadline, "It is not compacted."
        fetch(wire, topic, offset=end_offset(wire, topic), max_wait_ms=100)
