"""`holdfast.testing` with TLS, users and rights: a real broker that asks who somebody is."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from holdfast.errors import Rejected
from holdfast.testing import SecuredBroker, secured_broker
from holdfast.testing.secured import parse_right

USERS = {"alice": ["WRITE topic:orders"], "bob": ["READ topic:ord*", "READ group:billing", "DENY READ topic:ordinary"]}


@pytest.fixture(scope="module")
def broker() -> Iterator[SecuredBroker]:
    with secured_broker(USERS) as broker:
        yield broker


def _produce(broker: SecuredBroker, user: str, topic: str) -> KafkaError | None:
    failed: list[KafkaError | None] = []
    producer = Producer(broker.conf(user))
    producer.produce(topic, b"one", on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(60) == 0
    return failed[0]


def test_users_may_what_they_were_given_and_nothing_else(broker: SecuredBroker) -> None:
    """X11: other projects test their settings of security in one line."""
    assert _produce(broker, "admin", "orders") is None
    assert _produce(broker, "alice", "orders") is None
    refused = _produce(broker, "bob", "orders")
    assert refused is not None
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    consumer = Consumer({**broker.conf("bob"), "group.id": "billing", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    message = consumer.poll(60)
    assert message is not None
    assert message.value() == b"one"
    consumer.close()


def test_who_does_not_know_the_password_is_nobody(broker: SecuredBroker) -> None:
    """X4."""
    seen: list[KafkaError] = []
    conf = {**broker.conf("alice"), "sasl.password": "wrong", "error_cb": seen.append}
    admin = AdminClient(conf)
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=3)
    until = time.monotonic() + 20
    while not seen and time.monotonic() < until:
        admin.poll(0.1)
    assert any(each.code() == KafkaError._AUTHENTICATION for each in seen)


def test_a_client_of_another_kind_takes_the_context(broker: SecuredBroker) -> None:
    """X11: here aiokafka, to a topic that is there: who may write may not make one."""
    assert _produce(broker, "admin", "orders") is None

    async def send() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap,
            security_protocol="SASL_SSL",
            ssl_context=broker.ssl_context(),
            sasl_mechanism="SCRAM-SHA-512",
            sasl_plain_username="alice",
            sasl_plain_password=broker.password("alice"),
        ) as producer:
            await producer.send_and_wait("orders", b"two")

    asyncio.run(asyncio.wait_for(send(), 60))


@pytest.mark.parametrize(
    "text", ["", "READ", "READ topic", "FLY topic:x", "READ cloud:x", "DESCRIBE cluster:x", "MAYBE READ topic:x"]
)
def test_a_right_that_is_none_is_refused(text: str) -> None:
    """X11: what is written wrongly gives nobody anything."""
    with pytest.raises(Rejected, match="is no right"):
        parse_right("alice", text)


def test_fixtures_are_the_same(holdfast_secured_broker: SecuredBroker) -> None:
    assert _produce(holdfast_secured_broker, "admin", "orders") is None


def test_its_certificates_pass_the_strict_checks_of_later_pythons(broker: SecuredBroker) -> None:
    """X11: from 3.13 on `ssl.create_default_context` wants to know which key has signed what."""
    context = broker.ssl_context()
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with (
        socket.create_connection(("127.0.0.1", broker.port), 10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as link,
    ):
        assert link.version() == "TLSv1.3"
