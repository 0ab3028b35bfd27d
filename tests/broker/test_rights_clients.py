"""Rights as librdkafka's clients meet them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from tests.broker.wire import Wire, batch, create_topic, produce
from tests.support.guarded import PASSWORD, Guarded

from holdfast.broker.guard import rights


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path_factory.mktemp("rights"), users=20)
    with guarded.process:
        yield guarded


def config(place: Guarded, user: str, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": f"127.0.0.1:{place.sasl}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": user,
        "sasl.password": PASSWORD,
    } | {name.replace("_", "."): value for name, value in more.items()}


def test_rules_are_made_shown_and_taken_back(place: Guarded) -> None:
    """X7: by librdkafka's admin client, as one who may, and as one who may not."""
    user = place.user()
    made = AclBinding(
        ResourceType.TOPIC, "billing-", ResourcePatternType.PREFIXED, f"User:{user}", "*", AclOperation.READ,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    wanted = AclBindingFilter(
        ResourceType.TOPIC, "billing-x", ResourcePatternType.MATCH, f"User:{user}", None, AclOperation.ANY,
        AclPermissionType.ANY,
    )  # fmt: skip
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{place.plain}"})
    admin.create_acls([made])[made].result(20)
    assert admin.describe_acls(wanted).result(20) == [made]
    theirs = AdminClient(config(place, user))
    with pytest.raises(KafkaException) as refused:
        theirs.create_acls([made])[made].result(20)
    assert refused.value.args[0].code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED
    assert theirs.describe_acls(wanted).result(20) == []  # That this was refused, the client keeps to itself.
    assert admin.delete_acls([wanted])[wanted].result(20) == [made]
    assert admin.describe_acls(wanted).result(20) == []


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_producer_hears_that_it_may_not_and_goes_on_when_it_may(place: Guarded, *, idempotent: bool) -> None:
    """X7, X8: with no more than Write on its topic."""
    user, topic = place.user(), f"mine-{idempotent}"
    with Wire(place.plain) as root:
        create_topic(root, topic)
    heard: list[Any] = []

    def send() -> Any:
        producer = Producer(config(place, user, enable_idempotence=idempotent, message_timeout_ms=20_000))
        producer.produce(topic, b"x", on_delivery=lambda error, _: heard.append(error))
        producer.flush(20)
        return heard.pop() if heard else "nothing"

    place.allow(user, rights.DESCRIBE_TOPIC, name=topic)
    if not idempotent:
        assert send().code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    place.allow(user, rights.WRITE_TOPIC, name=topic)
    assert send() is None


def test_a_consumer_reads_with_two_rights(place: Guarded) -> None:
    """X7, X8: Read on the topic and on its group; without the group's it is told which."""
    user = place.user()
    with Wire(place.plain) as root:
        create_topic(root, "read-me")
        produce(root, "read-me", batch(b"one"))
    place.allow(user, rights.READ_TOPIC, name="read-me")

    def first() -> Any:
        consumer = Consumer(config(place, user, group_id="readers", auto_offset_reset="earliest"))
        consumer.subscribe(["read-me"])
        try:
            return consumer.poll(20)
        finally:
            consumer.close()

    assert first().error().code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    place.allow(user, rights.READ_GROUP, name="readers")
    assert first().value() == b"one"
