"""The subscribers' port of a broker that asks who somebody is, and what they may read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from tests.broker.wire import wait_for
from tests.subscribe.calls import Caller, basic
from tests.support.broker_process import BrokerProcess

from holdfast.client import SecurityOptions
from holdfast.subscribe import subscribe
from holdfast.testing import SecuredBroker, free_port, secured_broker
from holdfast.testing.certificates import AuthorityFolder

KEY = ec.generate_private_key(ec.SECP256R1())
USERS = {
    "alice": ["READ topic:orders", "DESCRIBE topic:seen", "READ topic:log-*"],
    "carol": ["READ topic:orders"],
    "eve": ["READ topic:other"],
    "token": ["READ topic:orders"],
}
TOPICS = ("orders", "seen", "secret", "log-1", "other")


class Guarded:
    """Such a broker, and its port."""

    def __init__(self, broker: SecuredBroker, port: int) -> None:
        self.broker = broker
        self.address = f"127.0.0.1:{port}"
        self.trust = broker.ca_file.read_text()
        self.caller = Caller(self.address, self.trust)
        self.admin = AdminClient(broker.conf("admin"))

    def said(self, user: str) -> str:
        return basic(user, self.broker.password(user))

    def lines(self, *words: str) -> list[str]:
        return [each for each in self.broker.said if all(word in each for word in words)]


def token(lasts_s: float = 600, user: str = "token") -> str:
    now = time.time()
    return jwt.encode({"sub": user, "iat": now - 1, "exp": now + lasts_s}, KEY, "ES256", {"kid": "one"})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    keys.write_text(json.dumps({"keys": [{**json.loads(ECAlgorithm.to_jwk(KEY.public_key())), "kid": "one"}]}))
    port = free_port()
    settings: dict[str, Any] = {
        "subscribe_listen": f"127.0.0.1:{port}",
        "sasl_enabled_mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
        "sasl_oauthbearer_jwks_endpoint_url": f"file://{keys}",
    }
    with secured_broker(USERS, **settings) as broker:
        producer = Producer(broker.conf("admin"))
        for topic in TOPICS:
            producer.produce(topic, topic.encode())
        assert producer.flush(60) == 0
        yield Guarded(broker, port)


def test_who_calls_is_known_by_a_password_or_a_token(place: Guarded) -> None:
    """X8: and by nothing else; every failure has the same words, and is in the audit log without what was sent."""
    caller = place.caller
    assert caller.topics("orders", said=place.said("alice")) == ["orders"]
    assert caller.topics("orders", said=f"Bearer {token()}") == ["orders"]
    wrong = [
        None,
        basic("alice", "hunter2-wrong"),
        basic("nobody", "hunter2-wrong"),
        "Basic !!!",
        "Bearer hunter2-wrong",
        f"Bearer {token(-100)}",
        "Digest x",
        place.said("alice") + ", " + place.said("carol"),
    ]
    told = set()
    for said in wrong:
        began = time.monotonic()
        told.add(caller.code("orders", said=said))
        assert time.monotonic() - began >= 0.1, "a failure is told late"
    assert len(told) == 1
    assert next(iter(told))[0] == "UNAUTHENTICATED"
    wait_for(lambda: bool(place.lines("login failed", "'alice': the password is wrong", "SASL_SSL", "127.0.0.1")))
    assert place.lines("login failed", "'nobody': there is no such user")
    assert not place.lines("hunter2-wrong")


def test_what_may_not_be_read_is_refused_whether_it_is_there_or_not(place: Guarded) -> None:
    """X8: by name, by pattern, and with references to segments."""
    caller, said = place.caller, place.said("alice")
    hidden, absent = caller.code("secret", said=said), caller.code("sacred", said=said)
    assert hidden[0] == absent[0] == "PERMISSION_DENIED"
    assert hidden[1].replace("secret", "sacred") == absent[1]
    assert caller.code("orders", "secret", said=said, supports_segment_refs=True)[0] == "PERMISSION_DENIED"
    wait_for(lambda: bool(place.lines("refused", "User:alice", "READ TOPIC 'secret'", "Subscribe")))
    assert caller.topics("log-*", said=said, supports_segment_refs=True) == ["log-1"]
    assert caller.topics("*o*", said=place.said("carol")) == ["orders"]
    assert caller.code("s*", said=said)[0] == "PERMISSION_DENIED", "seen may be described, and not be read"
    assert caller.code("sec*", said=said)[0] == "NOT_FOUND"
    assert caller.topics("*", said=place.said("admin")) == sorted(TOPICS)


def test_a_rule_that_goes_ends_an_open_stream(place: Guarded) -> None:
    """X7, X8: also one of a client that reads nothing meanwhile; one that comes shows a pattern more."""
    binding = AclBinding(
        ResourceType.TOPIC, "other", ResourcePatternType.LITERAL, "User:eve", "*", AclOperation.READ,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    stream = place.caller.call("o*", said=place.said("eve"), until_now=False)
    opened = next(each for each in stream if each.HasField("opened"))
    assert [lane.topic for lane in opened.opened.lanes] == ["other"]
    more = AclBinding(
        ResourceType.TOPIC, "orders", ResourcePatternType.LITERAL, "User:eve", "*", AclOperation.READ,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    for made in place.admin.create_acls([more]).values():
        made.result(30)
    added = next(each for each in stream if each.HasField("added"))
    assert [lane.topic for lane in added.added.lanes] == ["orders"]
    gone = AclBindingFilter(
        ResourceType.TOPIC, "other", ResourcePatternType.LITERAL, "User:eve", "*", AclOperation.READ,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    for removed in place.admin.delete_acls([gone]).values():
        assert removed.result(30) == [binding]
    producer = Producer(place.broker.conf("admin"))
    producer.produce("other", b"behind the rule")
    assert producer.flush(60) == 0
    left: list[bytes] = []
    with pytest.raises(grpc.RpcError):
        left.extend(message.SerializeToString() for message in stream)
    assert not any(b"behind the rule" in each for each in left)
    assert stream.code() is grpc.StatusCode.PERMISSION_DENIED


def test_a_rule_that_goes_ends_the_stream_of_a_client_that_does_not_read(place: Guarded) -> None:
    """X7, K10: what was on its way to it comes, and nothing behind that."""
    producer = Producer(place.broker.conf("admin"))
    for _ in range(400):
        producer.produce("heavy", bytes(64_000))
    assert producer.flush(60) == 0
    rule = (ResourceType.TOPIC, "heavy", ResourcePatternType.LITERAL, "User:eve", "*", AclOperation.READ)
    for made in place.admin.create_acls([AclBinding(*rule, AclPermissionType.ALLOW)]).values():
        made.result(30)
    stream = place.caller.call("heavy", said=place.said("eve"), until_now=False)
    next(stream)
    for removed in place.admin.delete_acls([AclBindingFilter(*rule, AclPermissionType.ALLOW)]).values():
        assert len(removed.result(30)) == 1
    wait_for(lambda: bool(place.lines("refused", "User:eve", "READ TOPIC 'heavy'")))
    size = 0
    with contextlib.suppress(grpc.RpcError):
        for message in stream:
            size += message.ByteSize()
    assert stream.code() is not grpc.StatusCode.OK
    assert size < 20_000_000, "not all 25 MB of it"


def test_the_end_of_a_token_ends_the_stream(place: Guarded) -> None:
    """X5, X8."""
    began = time.monotonic()
    stream = place.caller.call("orders", said=f"Bearer {token(4)}", until_now=False)
    with pytest.raises(grpc.RpcError):
        for _ in stream:
            pass
    assert 3 < time.monotonic() - began < 30
    assert stream.code() is grpc.StatusCode.UNAUTHENTICATED
    assert "session is over" in stream.details()


def test_a_flood_of_failed_logins_locks_nobody_out(place: Guarded) -> None:
    """X8, K10: failures are held back, but only so many; whoever knows the password comes in meanwhile."""
    calls = [place.caller.call("orders", said=basic("alice", f"wrong-{number}")) for number in range(600)]
    until = time.monotonic() + 30
    while place.caller.code("orders", said=f"Bearer {token()}")[0] != "OK":
        assert time.monotonic() < until
    assert {each.code().name for each in calls} <= {"UNAUTHENTICATED", "UNAVAILABLE"}


def test_a_plain_client_learns_nothing(place: Guarded) -> None:
    """X8: where there is TLS there is nothing else."""
    plain = Caller(place.address)
    assert plain.code("orders", said=place.said("alice"))[0] == "UNAVAILABLE"
    plain.close()


def test_certificates_of_clients_and_their_renewal(tmp_path: Path) -> None:
    """X2, X3, X8: who shows one is who it says; a new one of the server counts from the next handshake on."""
    port, files = free_port(), AuthorityFolder(tmp_path / "ca")
    keystore, kafka = files.signed("broker"), free_port()
    settings = [
        f"listeners=PLAINTEXT://127.0.0.1:{kafka},MUTUAL://127.0.0.1:{free_port()}",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,MUTUAL:SSL",
        f"ssl.keystore.location={keystore}",
        f"ssl.truststore.location={files.certificate}",
        "ssl.client.auth=requested",
        "ssl.principal.mapping.rules=RULE:^CN=(.*?),OU=Services$/$1/L",
        "authorizer.class.name=standard",
        "super.users=User:reader;User:ANONYMOUS",
        f"subscribe.listen=MUTUAL://127.0.0.1:{port}",
    ]
    address = f"127.0.0.1:{port}"
    with BrokerProcess(tmp_path / "data", port=kafka, settings=settings, sets_listeners=True) as broker:
        producer = Producer({"bootstrap.servers": f"127.0.0.1:{kafka}"})
        producer.produce("orders", b"one")
        assert producer.flush(60) == 0
        trust, issue = files.authority.trust_pem, files.authority.issue
        reader = Caller(address, trust, issue("CN=Reader,OU=Services"))
        assert reader.topics("orders") == ["orders"]
        assert reader.code("orders", said=basic("reader", "x"))[0] == "UNAUTHENTICATED", "there is no SASL"
        assert Caller(address, trust, issue("CN=Writer,OU=Services")).code("orders")[0] == "PERMISSION_DENIED"
        assert Caller(address, trust, issue("CN=Reader,OU=Others")).code("orders")[0] == "UNAUTHENTICATED"
        assert Caller(address, trust).code("orders")[0] == "UNAVAILABLE", "gRPC insists where others request"
        following = reader.call("orders", until_now=False)
        next(following)
        other = AuthorityFolder(tmp_path / "other")
        other.signed("broker").rename(keystore)
        wait_for(lambda: any("were renewed" in each for each in broker.said))
        renewed = Caller(address, other.certificate.read_text(), issue("CN=Reader,OU=Services"))
        assert renewed.topics("orders") == ["orders"]
        assert following.is_active(), "nobody was cut off"


@pytest.mark.parametrize(
    ("listeners", "listen", "told"),
    [
        ("PLAINTEXT://127.0.0.1:{a},SASL_SSL://127.0.0.1:{b}", "auto", "no port for subscribers: beside PLAINTEXT"),
        ("SASL_SSL://127.0.0.1:{a},PLAINTEXT://127.0.0.1:{b}", "auto", "subscribers at 127.0.0.1:"),
        ("PLAINTEXT://127.0.0.1:{a}", "auto", "subscribers at 127.0.0.1:"),
    ],
)
def test_auto_opens_no_unprotected_door_beside_a_protected_one(
    tmp_path: Path, listeners: str, listen: str, told: str
) -> None:
    """X8: it takes the protocol of the first listener."""
    files, kafka = AuthorityFolder(tmp_path / "ca"), free_port()
    settings = [
        f"listeners={listeners.format(a=kafka, b=free_port())}",
        f"ssl.keystore.location={files.signed('broker')}",
        "sasl.enabled.mechanisms=SCRAM-SHA-512",
        f"subscribe.listen={listen}",
    ]
    with BrokerProcess(tmp_path / "data", port=kafka, settings=settings, sets_listeners=True) as broker:
        wait_for(lambda: any(told in each for each in broker.said))
        if "subscribers at" in told and "SASL_SSL" in listeners:
            address = next(each for each in broker.said if told in each).rpartition(" ")[2]
            assert Caller(address).code("orders")[0] == "UNAVAILABLE", "not in plain"
            assert Caller(address, files.certificate.read_text()).code("orders")[0] == "UNAUTHENTICATED"


def test_our_client_logs_in_again_and_goes_on(tmp_path: Path) -> None:
    """X5, X11: a session that ends is no end of a subscription; nothing is missing, and nothing comes twice."""
    port = free_port()
    settings: dict[str, Any] = {"subscribe_listen": f"127.0.0.1:{port}", "connections_max_reauth_ms": 1000}
    with secured_broker({"alice": ["READ topic:orders"]}, tmp_path / "data", **settings) as broker:
        producer = Producer(broker.conf("admin"))
        words = broker.properties("alice")
        del words["bootstrap.servers"]  # Of the Kafka port.
        security = SecurityOptions.parse(words)

        async def follow() -> list[bytes | None]:
            found = []
            async with subscribe(f"127.0.0.1:{port}", ["orders"], since=0, security=security) as subscription:
                async for event in subscription:
                    found.append(event.value)
                    if len(found) == 6:
                        break
                    await asyncio.sleep(0.5)
                    producer.produce("orders", str(len(found)).encode())
                    producer.poll(0)
            return found

        producer.produce("orders", b"0")
        assert producer.flush(60) == 0
        assert asyncio.run(asyncio.wait_for(follow(), 60)) == [str(number).encode() for number in range(6)]


def test_strangers_take_no_place_of_those_who_are_known(tmp_path: Path) -> None:
    """X8, K10: they are held back for a while, and do not count as subscriptions meanwhile."""
    port = free_port()
    settings: dict[str, Any] = {
        "subscribe_listen": f"127.0.0.1:{port}",
        "subscribe_subscriptions_max": 1,
        "connection_failed_authentication_delay_ms": 5_000,
    }
    with secured_broker({"alice": ["READ topic:orders"]}, tmp_path / "data", **settings) as broker:
        producer = Producer(broker.conf("admin"))
        producer.produce("orders", b"0")
        assert producer.flush(60) == 0
        callers = [Caller(f"127.0.0.1:{port}", broker.ca_file.read_text()) for _ in range(6)]
        strangers = [each.call("orders", said=basic("alice", "wrong")) for each in callers[1:]]
        wait_for(lambda: any("login failed" in each for each in broker.said))
        assert callers[0].topics("orders", said=basic("alice", broker.password("alice"))) == ["orders"]
        assert strangers[-1].code().name == "UNAUTHENTICATED"
