"""The one client through every kind of listener, and before everybody who is not the broker it should be."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.every_way import (
    MARK,
    MODULES,
    PASSWORD,
    USER,
    WAYS,
    EveryWay,
    client_of,
    jaas,
    round_trip,
    stays_open,
)
from tests.support.false_broker import FalseBroker
from tests.support.issuer import CLIENT, SECRET, Issuer

from holdfast.client.errors import BrokerLost, LoginRefused, NotKafka, TlsFailed
from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.clock import ManualClock
from holdfast.protocol.api import Key
from holdfast.security.logins.jwt import IssuerRefused
from holdfast.testing.certificates import AuthorityFolder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EveryWay]:
    made = EveryWay(tmp_path_factory.mktemp("ways"), "message.max.bytes=8000000")
    with made.running():
        yield made


@pytest.mark.parametrize("way", WAYS)
def test_the_client_speaks_every_way(place: EveryWay, topic: str, way: str) -> None:
    """X11: plain, TLS, a certificate of our own, and each mechanism with and without TLS."""
    with client_of(place.words(way)) as client:
        round_trip(client, topic)


# Who is not let in, or should not be trusted


def _other_trust(place: EveryWay, folder: Path) -> dict[str, str]:
    other = AuthorityFolder(folder / "other", "Somebody else")
    return place.words("SSL") | {"ssl.truststore.location": str(other.certificate)}


REFUSED: dict[str, tuple[type[HoldfastError], str, Callable[[EveryWay, Path], dict[str, str]]]] = {
    "wrong password": (LoginRefused, r"correct sasl\.jaas\.config", lambda at, _: at.words("SASL_SSL PLAIN", MARK)),
    "wrong password of SCRAM": (
        LoginRefused,
        r"with SCRAM-SHA-256 as alice: .*correct sasl\.jaas\.config",
        lambda at, _: at.words("SASL_PLAINTEXT SCRAM-SHA-256", MARK),
    ),
    "wrong authority": (TlsFailed, r"nobody whom we trust .* name its authority's certificate", _other_trust),
    "wrong name": (
        TlsFailed,
        r"its certificate is not for 127\.1: use the name that is in it",
        lambda at, _: at.words("SSL", host="127.1"),
    ),
    "no certificate of ours": (
        TlsFailed,
        r"it refused us .*ssl\.keystore\.location",
        lambda at, _: at.words("SSL") | {"bootstrap.servers": f"localhost:{at.port('SSL certificate')}"},
    ),
    "a login that nobody wants": (
        LoginRefused,
        "it wants none there",
        lambda at, _: at.words("SASL_SSL PLAIN") | {"bootstrap.servers": f"localhost:{at.port('SSL')}"},
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_one_sentence_at_once(place: EveryWay, tmp_path: Path, case: str) -> None:
    """X11: with what to do next, without trying again, and without the password."""
    kind, told, words = REFUSED[case]
    began = time.monotonic()
    with client_of(words(place, tmp_path), patience_s=30) as client, pytest.raises(kind, match=told) as refused:
        client.metadata([])
    assert time.monotonic() - began < 15
    assert MARK not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_may_pass_says_what_it_may_be(place: EveryWay) -> None:
    """X11: a listener that closes early may want TLS, or a login."""
    words = place.words("SSL") | {"bootstrap.servers": f"localhost:{place.port('PLAINTEXT')}"}
    with client_of(words, patience_s=0) as client, pytest.raises(BrokerLost, match="if it does not speak TLS"):
        client.metadata([])
    words = {"bootstrap.servers": f"localhost:{place.port('SSL')}"}
    with client_of(words, patience_s=0) as client, pytest.raises(BrokerLost, match="if it wants TLS, set security"):
        client.metadata([])
    words = {"bootstrap.servers": f"localhost:{place.port('SASL_PLAINTEXT PLAIN')}"}
    with client_of(words, patience_s=0) as client, pytest.raises(BrokerLost, match="if it wants a login, set security"):
        client.metadata([])


def test_who_answers_with_tls_is_no_broker_for_plain_clients() -> None:
    """X11: as Java's brokers do; it is told at once."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse() -> None:
            with listening.accept()[0] as link:
                link.sendall(b"\x15\x03\x03\x00\x02\x02\x46")

        thread = threading.Thread(target=refuse)
        thread.start()
        words = {"bootstrap.servers": f"127.0.0.1:{listening.getsockname()[1]}"}
        with client_of(words) as client, pytest.raises(NotKafka, match=r"it speaks TLS: set security\.protocol to SSL"):
            client.metadata([])
        thread.join()


def test_a_mechanism_that_is_not_offered_is_told_with_those_that_are(tmp_path: Path) -> None:
    """X11."""
    made = EveryWay(tmp_path, "sasl.enabled.mechanisms=PLAIN")
    with (
        made.process,
        client_of(made.words("SASL_SSL SCRAM-SHA-512")) as client,
        pytest.raises(LoginRefused, match=r"it offers PLAIN: set sasl\.mechanism"),
    ):
        client.metadata([])


def test_a_name_is_not_checked_only_if_that_was_said(place: EveryWay) -> None:
    """X11: the authority still is."""
    words = place.words("SSL", host="127.1") | {"ssl.endpoint.identification.algorithm": ""}
    with client_of(words, follow_leaders=False) as client:
        assert client.metadata([]).cluster_id


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_server_that_does_not_know_the_password_is_found_out(mechanism: str) -> None:
    """X11: it takes any proof, and is asked for nothing more."""
    words = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    with FalseBroker().running() as false:
        given = {**words, "bootstrap.servers": false.address, "sasl.jaas.config": jaas(mechanism, USER, PASSWORD)}
        with client_of(given) as client, pytest.raises(LoginRefused, match="did not prove that it knows the user"):
            client.metadata([])
        assert false.asked == [Key.API_VERSIONS, Key.SASL_HANDSHAKE, Key.SASL_AUTHENTICATE, Key.SASL_AUTHENTICATE]


# Sessions


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EveryWay]:
    made = EveryWay(tmp_path_factory.mktemp("short"), "connections.max.reauth.ms=1300")
    with made.running():
        yield made


@pytest.mark.parametrize("mechanism", list(MODULES))
def test_a_session_is_prolonged_before_it_ends(short: EveryWay, mechanism: str) -> None:
    """X11: on the same connection, over several lifetimes (KIP-368)."""
    with client_of(short.words(f"SASL_SSL {mechanism}"), patience_s=0) as client:
        assert stays_open(client, 4.0)


def test_a_password_that_was_changed_ends_a_session(short: EveryWay) -> None:
    """X11: in one lifetime, with the sentence of a login; the new one is taken where it is kept."""
    short.keep("carol", "old")
    words = short.words("SASL_PLAINTEXT SCRAM-SHA-512")
    secret = short.folder / "carol"
    secret.write_text("password=old\n")
    login = jaas("SCRAM-SHA-512", "carol", f"${{file:{secret}:password}}")
    with client_of(words | {"sasl.jaas.config": login}, patience_s=0) as client:
        client.metadata([])
        short.keep("carol", "new")
        with pytest.raises(LoginRefused, match="as carol"):
            stays_open(client, 10.0)
        secret.write_text("password=new\n")
        assert stays_open(client, 2.0)
    with client_of(words | {"sasl.jaas.config": login}, patience_s=0) as client:
        client.metadata([])
        short.keep("carol", "newer")
        secret.write_text("password=newer\n")
        assert stays_open(client, 3.0)


def test_a_fresh_token_is_taken(place: EveryWay) -> None:
    """X11: what proves who we are is read when it is needed, also on a connection that is open."""
    place.give_token(600)
    clock = ManualClock()
    with client_of(place.words("SASL_SSL OAUTHBEARER"), clock=clock, patience_s=0) as client:
        client.metadata([])
        place.token.write_text("x.y.z\n")
        clock.advance(580)
        with pytest.raises(LoginRefused, match="give a fresh token"):
            client.metadata([])
        place.give_token()
        assert client.metadata([]).brokers


def test_a_session_is_prolonged_in_time_also_after_a_sleep(place: EveryWay) -> None:
    """X11: the time is that of the machine, asleep or not; without a lifetime there is one login."""
    place.give_token(600)
    clock = ManualClock()
    with client_of(place.words("SASL_SSL OAUTHBEARER"), clock=clock) as client:
        connection = client._nodes.any()

        def requests(seconds: float) -> int:
            clock.suspend(seconds)
            before = connection._asked
            client.metadata([])
            return connection._asked - before

        assert [requests(each) for each in (400, 100, 75, 400)] == [1, 1, 3, 1]
    clock = ManualClock()
    with client_of(place.words("SASL_SSL PLAIN"), clock=clock) as client:
        connection = client._nodes.any()
        assert requests(10**9) == 1


# Issuers


@pytest.fixture
def issuer(place: EveryWay, monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    monkeypatch.setenv("SSL_CERT_FILE", str(place.authority.certificate))  # The system's trust.
    with Issuer(place.keystore).running() as made:
        yield made


def from_issuer(place: EveryWay, url: str, secret: str = SECRET) -> dict[str, str]:
    login = f'{MODULES["OAUTHBEARER"]} required clientId="{CLIENT}" clientSecret="{secret}" scope="log read";'
    words = {"sasl.oauthbearer.token.endpoint.url": url, "sasl.jaas.config": login}
    return place.words("SASL_SSL OAUTHBEARER") | words


def test_an_issuer_is_asked_once_for_many_connections(place: EveryWay, issuer: Issuer) -> None:
    """X11: by id and secret, as Kafka's clients do, until its token has lived most of its life."""
    clock = ManualClock()
    for _ in range(3):
        with client_of(from_issuer(place, issuer.url), clock=clock) as client:
            assert client.metadata([]).brokers
    assert issuer.asked == [{"grant_type": ["client_credentials"], "scope": ["log read"]}]
    clock.advance(0.9 * 3600)
    words = place.words("SASL_SSL OAUTHBEARER") | {
        "sasl.jaas.config": f"{MODULES['OAUTHBEARER']} required;",
        "sasl.oauthbearer.token.endpoint.url": issuer.url,
        "sasl.oauthbearer.client.credentials.client.id": CLIENT,
        "sasl.oauthbearer.client.credentials.client.secret": SECRET,
        "sasl.oauthbearer.scope": "log read",
    }
    with client_of(words, clock=clock) as client:
        assert client.metadata([]).brokers
    assert len(issuer.asked) == 2


def test_a_token_that_is_refused_is_not_kept(place: EveryWay, issuer: Issuer) -> None:
    """X11: the next login asks for another."""
    issuer.lasts_s = -100
    with client_of(from_issuer(place, issuer.url)) as client, pytest.raises(LoginRefused, match="give a fresh token"):
        client.metadata([])
    issuer.lasts_s = 3600
    with client_of(from_issuer(place, issuer.url)) as client:
        assert client.metadata([]).brokers


def test_an_issuer_that_has_no_token_is_told(place: EveryWay, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """X11: for good when it refuses us, later when it is away or not trusted; its secret is in neither sentence."""
    with client_of(from_issuer(place, issuer.url, MARK)) as client, pytest.raises(IssuerRefused, match="401") as first:
        client.metadata([])
    issuer.status = 503
    words = from_issuer(place, issuer.url)
    with client_of(words, patience_s=0) as client, pytest.raises(Unavailable, match="it answers 503") as second:
        client.metadata([])
    issuer.status = 302
    with client_of(words) as client, pytest.raises(IssuerRefused, match="302"):
        client.metadata([])
    monkeypatch.delenv("SSL_CERT_FILE")
    with client_of(words, patience_s=0) as client, pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
        client.metadata([])
    assert MARK not in f"{first.value}{second.value}"
