"""`SecurityOptions`: Kafka's words for TLS and logins, what is refused, and what they show."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.support.every_way import MARK, MODULES, PASSWORD, jaas, write_properties

from holdfast.client import ClientSettings, SecurityOptions
from holdfast.client.protection.secure import HANDLERS
from holdfast.errors import Rejected
from holdfast.security.protocol import SecurityProtocol
from holdfast.security.secret import Secret
from holdfast.spark.sink.options import read_options
from holdfast.spark.source.options import parse
from holdfast.testing.certificates import Authority

AUTHORITY = Authority()
OWN = AUTHORITY.issue("me")
SCRAM = {
    "security.protocol": "SASL_SSL",
    "ssl.truststore.certificates": AUTHORITY.trust_pem,
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": jaas("SCRAM-SHA-512", "alice", PASSWORD),
}


def test_every_word_is_read(tmp_path: Path) -> None:
    """X11: TLS in line and from files, the key's password, the name's check, and who we are."""
    keystore = tmp_path / "me.pem"
    keystore.write_text(OWN.pem("open"))
    opened = SecurityOptions.parse(
        SCRAM
        | {
            "ssl.truststore.type": "PEM",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keystore),
            "ssl.key.password": "open",
            "ssl.enabled.protocols": "TLSv1.3",
            "ssl.endpoint.identification.algorithm": "",
        }
    ).open()
    assert opened.protocol is SecurityProtocol.SASL_SSL
    assert opened.tls is not None
    assert opened.tls.protocols == ("TLSv1.3",)
    assert not opened.checks_name
    assert opened.credentials is not None
    assert opened.credentials == ("SCRAM-SHA-512", "alice", Secret(PASSWORD), None)
    context = opened.context()
    assert context is not None
    assert not context.check_hostname
    assert SecurityOptions.parse(SCRAM).open().checks_name
    assert SecurityOptions.parse({}).open().context() is None


def test_tokens_come_from_a_file(tmp_path: Path) -> None:
    """X11: the one that is there when it is needed."""
    token = tmp_path / "my token"
    token.write_text("one\n")
    words = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{MODULES['OAUTHBEARER']} required;",
        "sasl.login.callback.handler.class": HANDLERS[0],
        "sasl.oauthbearer.token.endpoint.url": f"file://{tmp_path}/my%20token",
    }
    options = SecurityOptions.parse(words)
    token.write_text("two\n")
    found = options.open().credentials
    assert found is not None
    assert found.tokens is not None
    assert found.tokens.fetch() == Secret("two")


PLAIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
BEARER = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.jaas.config": f"{MODULES['OAUTHBEARER']} required;",
}
REFUSED = {
    "did you mean ssl.truststore.location": {"ssl.trustore.location": "x"},
    "librdkafka's word, Kafka's is sasl.jaas.config": {"sasl.password": MARK},
    "'TLS' is none of PLAINTEXT, SSL": {"security.protocol": "TLS"},
    "keytool -importkeystore -srckeystore a.jks": {
        "security.protocol": "SSL",
        "ssl.truststore.type": "JKS",
        "ssl.truststore.location": "a.jks",
    },
    "a PEM file has none": {"security.protocol": "SSL", "ssl.truststore.password": MARK},
    "ca.pem cannot be read": {"security.protocol": "SSL", "ssl.truststore.location": "/nowhere/ca.pem"},
    "write SSL or SASL_SSL there, or remove it": {"ssl.truststore.location": "x"},
    "write SASL_SSL or SASL_PLAINTEXT there": {"security.protocol": "SSL", "sasl.jaas.config": MARK},
    "it is https, or empty": {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "ldap"},
    "'TLSv1.1' is not supported": {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.1"},
    "a login needs one: choose of PLAIN": {"security.protocol": "SASL_SSL"},
    "there is no GSSAPI: choose of": {"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"},
    'PLAIN needs it: .*PlainLoginModule required username="…"': PLAIN,
    "its module is of SCRAM, and sasl.mechanism is PLAIN": PLAIN
    | {"sasl.jaas.config": jaas("SCRAM-SHA-256", "a", MARK)},
    "a client has no option user_a": PLAIN | {"sasl.jaas.config": f'{MODULES["PLAIN"]} required user_a="{MARK}";'},
    "username is missing": PLAIN | {"sasl.jaas.config": f'{MODULES["PLAIN"]} required password="{MARK}";'},
    "no classes are loaded": PLAIN
    | {"sasl.jaas.config": jaas("PLAIN", "a", MARK), "sasl.login.callback.handler.class": "com.example.Mine"},
    "an issuer wants to know who asks": BEARER
    | {"sasl.oauthbearer.token.endpoint.url": "https://issuer.example/token"},
    "write https://… of an issuer, or file": BEARER | {"sasl.oauthbearer.token.endpoint.url": "http://issuer.example"},
    "a file is not told who asks": BEARER
    | {"sasl.oauthbearer.token.endpoint.url": "file:///token", "sasl.oauthbearer.scope": "x"},
    "write https://… of an issuer, or file:///…": BEARER
    | {"sasl.oauthbearer.token.endpoint.url": f"https://me:{MARK}@issuer.example"},
    "OAUTHBEARER has no option unsecuredLoginStringClaim_sub": BEARER
    | {"sasl.jaas.config": f'{MODULES["OAUTHBEARER"]} required unsecuredLoginStringClaim_sub="{MARK}";'},
    "it is for OAUTHBEARER, and sasl.mechanism is PLAIN": PLAIN
    | {"sasl.jaas.config": jaas("PLAIN", "a", MARK), "sasl.oauthbearer.scope": "x"},
    "there is no environment variable NOT_THERE_AT_ALL": PLAIN
    | {"sasl.jaas.config": jaas("PLAIN", "a", "${env:NOT_THERE_AT_ALL}")},
}


@pytest.mark.parametrize("told", REFUSED)
def test_what_cannot_be_taken_is_refused_with_what_to_do(told: str) -> None:
    """X11: nothing is accepted and ignored, and no sentence shows a secret."""
    with pytest.raises(Rejected, match=told) as refused:
        ClientSettings.parse({"bootstrap.servers": "a:1", **REFUSED[told]})
    assert MARK not in f"{refused.value}{refused.value!r}"


def test_spark_takes_the_same_words_in_any_case() -> None:
    """X11: source and sink, as Spark's own Kafka source has them; the nearest is named."""
    wanted = ClientSettings.parse({"bootstrap.servers": "a:1", **SCRAM})
    options = {f"KAFKA.{word.upper()}": text for word, text in {"bootstrap.servers": "a:1", **SCRAM}.items()}
    assert parse({"path": "/data", "subscribe": "t", **options}, stream=False).kafka == wanted
    assert read_options({"staging": "/s", **options}).kafka == wanted
    for read in (
        lambda given: parse({"path": "/data", "subscribe": "t", **given}, stream=False),
        lambda given: read_options({"staging": "/s", **given}),
    ):
        with pytest.raises(Rejected, match=r"did you mean kafka\.sasl\.jaas\.config"):
            read(options | {"kafka.sasl.jaas.confg": MARK})
    with pytest.raises(Rejected, match=r"bootstrap\.servers is missing"):
        parse({"path": "/data", "subscribe": "t", "kafka.security.protocol": "SSL"}, stream=False)


def test_no_text_shows_a_secret() -> None:
    """X11: neither its own, nor that of whatever holds it, nor JSON."""
    settings = ClientSettings.parse(
        {
            "bootstrap.servers": "a:1",
            **SCRAM,
            "ssl.keystore.key": OWN.key_pem(),
            "ssl.keystore.certificate.chain": OWN.chain_pem,
        }
    )
    options = read_options({"staging": "/s", "kafka.bootstrap.servers": "a:1"}, settings)
    reader = parse({"path": "/d", "subscribe": "t", "kafka.bootstrap.servers": "a:1"}, stream=False)
    opened = settings.security.open()
    shown = f"{settings} {settings!r} {options} {reader} {opened} {opened.credentials} {asdict(settings)}"
    shown += json.dumps(settings.security.shown())
    assert "sasl.jaas.config=…" in shown
    assert "alice" not in repr(settings)
    for secret in (MARK, OWN.key_pem().splitlines()[1]):
        assert secret not in shown
    with pytest.raises(TypeError):
        json.dumps(asdict(settings))


def test_only_the_place_of_a_secret_travels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """X11: to executors, and into whatever Spark makes of a task; it is fetched where it is used."""
    write_properties(tmp_path / "secrets", {"password": PASSWORD.replace("\\", "\\\\").replace('"', '\\"')})
    monkeypatch.setenv("HERE_IS_WHO", "alice")
    module = MODULES["SCRAM-SHA-512"]
    login = f'{module} required username="${{env:HERE_IS_WHO}}" password="${{file:{tmp_path}/secrets:password}}";'
    options = SecurityOptions.parse(SCRAM | {"sasl.jaas.config": login})
    sent = pickle.dumps(ClientSettings((), options))
    assert MARK.encode() not in sent
    arrived = pickle.loads(sent).security
    assert arrived == options
    found = arrived.open().credentials
    assert found.user == "alice"
    assert found.password == Secret(PASSWORD)
    given = SecurityOptions.parse(SCRAM)
    assert pickle.loads(pickle.dumps(given)) == given


def test_a_file_is_read_as_kafkas_tools_do(tmp_path: Path) -> None:
    """X11: its address counts unless another is given."""
    path = tmp_path / "client.properties"
    write_properties(path, {"bootstrap.servers": "a:1", **SCRAM})
    assert ClientSettings.read(path, None).security == SecurityOptions.parse(SCRAM)
    assert str(ClientSettings.read(path, None, "c:3")) == "a:1"
    assert str(ClientSettings.read(path, "b:2", "c:3")) == "b:2"
    assert str(ClientSettings.read(None, None, "c:3")) == "c:3"
    with pytest.raises(Rejected, match="cannot be read: No such file"):
        ClientSettings.read(tmp_path / "missing", None)
