"""TLS contexts from Kafka's settings, and their renewal."""

from __future__ import annotations

import datetime
import os
import ssl
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.io.clock import ManualClock
from holdfast.security.errors import BadSetting
from holdfast.security.secret import Secret
from holdfast.security.tls import (
    CIPHERS,
    CIPHERS_13,
    Material,
    TlsSettings,
    WatchedContext,
    client_context,
    read_material,
    server_context,
)
from holdfast.testing.certificates import Authority, Pair

CA = Authority()
OTHER_CA = Authority("another")
SERVER = CA.issue()
CLIENT = CA.issue("alice")


def _server(**given: Any) -> ssl.SSLContext:
    settings = TlsSettings(**{"certificate_chain": SERVER.chain_pem, "key": Secret(SERVER.key_pem()), **given})
    return server_context(settings, read_material(settings))


def _client(pair: Pair | None = None, ca: Authority = CA, **given: Any) -> ssl.SSLContext:
    if pair is not None:
        given |= {"certificate_chain": pair.chain_pem, "key": Secret(pair.key_pem())}
    settings = TlsSettings(truststore_certificates=ca.trust_pem, **given)
    return client_context(settings, read_material(settings))


def _shake(
    server: ssl.SSLContext, client: ssl.SSLContext, name: str = "localhost"
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """A whole handshake in memory, and one byte each way."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=name)
    for _ in range(10):
        for side in (theirs, ours):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    ours.write(b"x")
    assert theirs.read(1) == b"x"
    theirs.write(b"y")
    assert ours.read(1) == b"y"
    return ours, theirs


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_both_versions_are_spoken_and_nothing_older() -> None:
    """X2: TLS 1.2 and 1.3; compression, renegotiation and tickets are off."""
    server = _server()
    for version in ("TLSv1.2", "TLSv1.3"):
        ours, theirs = _shake(server, _client(protocols=(version,)))
        assert ours.version() == version
        assert ours.compression() is None
        assert not theirs.session.has_ticket
    assert server.minimum_version == ssl.TLSVersion.TLSv1_2
    assert server.options & ssl.OP_NO_RENEGOTIATION
    assert server.num_tickets == 0
    old = _client()
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError):
        _shake(server, old)


def test_a_listener_may_speak_one_version_only() -> None:
    """X2: ssl.enabled.protocols."""
    with pytest.raises(ssl.SSLError):
        _shake(_server(protocols=("TLSv1.3",)), _client(protocols=("TLSv1.2",)))


@pytest.mark.parametrize("name", CIPHERS)
def test_every_cipher_suite_that_can_be_named_is_known_to_openssl(name: str) -> None:
    """X2: Kafka's names; suites of TLS 1.2 alone turn TLS 1.3 off, as in Java."""
    settings = TlsSettings(ciphers=(name,))
    assert settings.versions == ("TLSv1.2",)
    if "ECDSA" in name:
        ours, _ = _shake(_server(ciphers=(name,)), _client())
        assert ours.cipher() == (CIPHERS[name], "TLSv1.2", ours.cipher()[2])  # type: ignore[index]
    assert TlsSettings(ciphers=CIPHERS_13).versions == ("TLSv1.3",)


def test_client_certificates_none_requested_required() -> None:
    """X2: who has none comes in unless one is required; one of another authority never comes in."""
    trust = {"truststore_certificates": CA.trust_pem}
    stranger = OTHER_CA.issue("alice")
    assert _shake(_server(), _client(CLIENT))[0].getpeercert(True) is None
    for wanted in ("requested", "required"):
        server = _server(client_auth=wanted, **trust)
        assert _shake(server, _client(CLIENT))[0].getpeercert()["subject"] == ((("commonName", "alice"),),)  # type: ignore[index]
        with pytest.raises(ssl.SSLError):
            _shake(server, _client(stranger))
    assert _shake(_server(client_auth="requested", **trust), _client())[0].getpeercert(True) is None
    with pytest.raises(ssl.SSLError):
        _shake(_server(client_auth="required", **trust), _client())


def test_a_client_checks_who_it_talks_to() -> None:
    """X11: the authority and the name, always."""
    with pytest.raises(ssl.SSLError):
        _shake(_server(), _client(ca=OTHER_CA))
    with pytest.raises(ssl.SSLError):
        _shake(_server(), _client(), "elsewhere.example")


@pytest.mark.parametrize("password", ["", "a pass word ü"])
def test_a_key_may_have_a_password(password: str, tmp_path: Path) -> None:
    """X2: from a file and in line, as it stands or with its lines joined by blanks."""
    path = tmp_path / "server.pem"
    path.write_text(SERVER.pem(password))
    words = {"ssl.keystore.type": "PEM"} | ({"ssl.key.password": password} if password else {})
    for stored in (
        {"ssl.keystore.location": str(path)},
        {"ssl.keystore.key": SERVER.key_pem(password), "ssl.keystore.certificate.chain": SERVER.chain_pem},
        {
            "ssl.keystore.key": SERVER.key_pem(password).replace("\n", " "),
            "ssl.keystore.certificate.chain": SERVER.chain_pem.replace("\n", " "),
        },
    ):
        settings = TlsSettings.parse({**words, **stored})
        _shake(server_context(settings, read_material(settings)), _client())


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"ssl.keystore.type": "JKS", "ssl.keystore.location": "/k.jks"}, "keytool .*/k.jks .*openssl pkcs12"),
        ({"ssl.truststore.type": "PKCS12"}, "only PEM is read"),
        ({"ssl.keystore.password": "hunter2"}, "ssl.key.password"),
        ({"ssl.client.auth": "maybe"}, "none, requested, required"),
        ({"ssl.enabled.protocols": "TLSv1.1,TLSv1.2"}, "'TLSv1.1' is not supported"),
        ({"ssl.cipher.suites": "TLS_RSA_WITH_AES_128_CBC_SHA"}, "not supported"),
        ({"ssl.cipher.suites": CIPHERS_13[0]}, "come together"),
        ({"ssl.cipher.suites": ",".join(CIPHERS), "ssl.enabled.protocols": "TLSv1.3"}, "none of them belongs"),
        ({"ssl.keystore.location": "/k", "ssl.keystore.key": "hunter2"}, "not both"),
        ({"ssl.keystore.key": "hunter2"}, "given together"),
        ({"ssl.truststore.location": "/k", "ssl.truststore.certificates": "x"}, "not both"),
    ],
)
def test_settings_that_cannot_be_taken_say_what_to_do(words: dict[str, str], why: str) -> None:
    """X2: and none of them shows a secret."""
    with pytest.raises(BadSetting, match=why) as caught:
        TlsSettings.parse(words)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "password", "why"),
    [
        (SERVER.chain_pem, "", "has no private key"),
        (SERVER.key_pem(), "", "has no certificate"),
        (SERVER.key_pem() + CLIENT.chain_pem, "", "first certificate"),
        (SERVER.pem()[:-100], "", "is broken"),
        (SERVER.pem("right"), "", "give its password"),
        (SERVER.pem("right"), "wrong", "ssl.key.password is wrong"),
        (SERVER.pem(), "needless", "not encrypted"),
        ("\u0001", "", "has no private key"),
    ],
)
def test_a_broken_file_is_refused(content: str, password: str, why: str, tmp_path: Path) -> None:
    """X3: key and chain are checked, and nobody is asked for a password on a terminal."""
    path = tmp_path / "k.pem"
    path.write_text(content)
    settings = TlsSettings(keystore_location=str(path), key_password=Secret(password))
    with pytest.raises(BadSetting, match=why):
        server_context(settings, read_material(settings))


@pytest.mark.parametrize("head", [b"\xfe\xed\xfe\xed\0\0\0\2", b"\x30\x82\x09\x10\2\1\3"])
def test_a_java_key_store_is_known_by_its_first_bytes(head: bytes, tmp_path: Path) -> None:
    """X2: also where no type was given."""
    path = tmp_path / "k.jks"
    path.write_bytes(head)
    with pytest.raises(BadSetting, match="keytool"):
        read_material(TlsSettings(keystore_location=str(path)))


@pytest.mark.parametrize("content", ["", "nothing", CA.trust_pem[:-60], CA.trust_pem + OTHER_CA.trust_pem[:300]])
def test_a_broken_trust_store_is_refused(content: str, tmp_path: Path) -> None:
    """X3: one that holds nothing would let nobody in."""
    path = tmp_path / "t.pem"
    path.write_text(content)
    with pytest.raises(BadSetting, match=r"t\.pem"):
        _server(truststore_location=str(path), client_auth="required")
    with pytest.raises(BadSetting, match=r"ssl\.truststore\.location"):
        _server(client_auth="required")


def test_a_key_in_line_is_never_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """X10: OpenSSL reads it from memory; a directory for temporary files that nobody may write to is enough."""
    if not hasattr(os, "memfd_create"):
        pytest.skip("this system has no files in memory")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    _shake(_server(), _client())
    assert repr(read_material(TlsSettings(certificate_chain="c", key=Secret("hunter2")))) == "Material(…)"


class _Renewed:
    """A listener's context over a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "server.pem"
        self.path.write_text(SERVER.pem())
        self.clock = ManualClock()
        self.watched = WatchedContext("TLS", TlsSettings(keystore_location=str(self.path)), self.clock)

    def serial(self) -> int:
        """The certificate that a new connection sees."""
        _, theirs = _shake(self.watched.current, _client())
        data = theirs.getpeercert(True)
        assert data is not None
        return x509.load_der_x509_certificate(data).serial_number


def test_a_new_certificate_is_taken_and_a_broken_one_is_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """X3: connections that are open stay; a broken file keeps the old certificate and says so, once."""
    renewed = _Renewed(tmp_path)
    first = renewed.watched.current
    open_before = _shake(first, _client())
    assert not renewed.watched.look()
    assert renewed.watched.current is first
    second = CA.issue()
    renewed.path.write_text(second.pem())
    assert renewed.watched.look()
    assert renewed.serial() == second.certificate.serial_number
    for broken in (second.pem()[:-200], second.key_pem() + SERVER.chain_pem, ""):
        renewed.path.write_text(broken)
        assert not renewed.watched.look()
        assert not renewed.watched.look()
        assert renewed.watched.problem
        assert renewed.serial() == second.certificate.serial_number
    renewed.path.unlink()
    assert not renewed.watched.look()
    assert "cannot be read" in renewed.watched.problem
    assert len([each for each in caplog.records if "keeps its certificates" in each.message]) == 4
    renewed.path.write_text(second.pem())
    assert not renewed.watched.look()
    assert not renewed.watched.problem
    open_before[0].write(b"still")
    assert open_before[1].read(5) == b"still"
    assert renewed.watched.renewals == 1


def test_a_certificate_that_is_over_does_not_take_the_place_of_one_that_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """X3: it would end every new connection. One that is good from tomorrow on is taken tomorrow."""
    renewed = _Renewed(tmp_path)
    now = datetime.datetime.fromtimestamp(renewed.clock.now_ms() / 1000, datetime.UTC)
    day = datetime.timedelta(days=1)
    over, later = CA.issue(until=now - day), CA.issue(since=now + day)
    for pair, why in ((over, "was good until"), (later, "is good from")):
        renewed.path.write_text(pair.pem())
        assert not renewed.watched.look()
        assert not renewed.watched.look()
        assert why in renewed.watched.problem
        assert renewed.serial() == SERVER.certificate.serial_number
    with pytest.raises(BadSetting, match="good from"):
        renewed.watched.change(TlsSettings(keystore_location=str(renewed.path)))
    assert len([each for each in caplog.records if "keeps its certificates" in each.message]) == 2
    renewed.clock.advance(2 * day.total_seconds())
    assert renewed.watched.look()
    assert renewed.serial() == later.certificate.serial_number


def test_a_certificate_that_ends_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """X3: at the start, and when it ends while it is used; another one is taken then, whatever its time is."""
    renewed = _Renewed(tmp_path)
    now = datetime.datetime.fromtimestamp(renewed.clock.now_ms() / 1000, datetime.UTC)
    soon = CA.issue(until=now + datetime.timedelta(hours=1))
    renewed.path.write_text(soon.pem())
    assert renewed.watched.look()
    assert not _ends(caplog)
    renewed.clock.advance(3601)
    for _ in range(3):
        renewed.watched.look()
    assert len(_ends(caplog)) == 1
    WatchedContext("TLS", TlsSettings(keystore_location=str(renewed.path)), renewed.clock)
    assert len(_ends(caplog)) == 2
    renewed.path.write_text(CA.issue(until=now - datetime.timedelta(days=1)).pem())
    assert renewed.watched.look()
    assert len(_ends(caplog)) == 3
    renewed.path.write_text(SERVER.pem())
    assert renewed.watched.look()
    assert len(_ends(caplog)) == 3


def _ends(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.message for each in caplog.records if "clients that check it do not connect" in each.message]


def test_a_file_with_the_same_times_and_size_is_looked_into(tmp_path: Path) -> None:
    """X3: by its content, whatever its times say."""
    renewed = _Renewed(tmp_path)
    stat = renewed.path.stat()
    second = CA.issue()
    renewed.path.write_text(second.pem())
    os.utime(renewed.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert renewed.watched.look()
    assert renewed.serial() == second.certificate.serial_number


def test_other_settings_are_taken_whole_or_not_at_all(tmp_path: Path) -> None:
    """X3: a location that is altered while brokers run."""
    renewed = _Renewed(tmp_path)
    with pytest.raises(BadSetting):
        renewed.watched.change(TlsSettings(keystore_location=str(tmp_path / "gone")))
    assert renewed.serial() == SERVER.certificate.serial_number
    second = CA.issue()
    (tmp_path / "second.pem").write_text(second.pem())
    renewed.watched.change(TlsSettings(keystore_location=str(tmp_path / "second.pem")))
    assert renewed.serial() == second.certificate.serial_number


@settings(deadline=None)
@given(st.data())
def test_any_damage_keeps_the_old_certificate(data: st.DataObject) -> None:
    """X3: cut or changed anywhere, the file is either a sound pair or not taken; never a traceback."""
    pem = bytearray(CLIENT.pem().encode())
    at = data.draw(st.integers(0, len(pem) - 1))
    pem[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(pem)))
    text = bytes(pem[:cut] if data.draw(st.booleans()) else pem)
    settings = TlsSettings(certificate_chain="c", key=Secret("k"))
    with suppress(BadSetting):
        assert server_context(settings, Material(text)).get_ciphers()


def test_what_openssl_made_is_read(tmp_path: Path) -> None:
    """X2: the commands of the guide: a key of its own kind (RSA, EC), in the form that openssl writes."""
    for kind in (["rsa:2048"], ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]):
        key, certificate = tmp_path / "k", tmp_path / "c"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-keyout", key, "-out", certificate,
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"],
            check=True, capture_output=True,
        )  # fmt: skip
        path = tmp_path / "both.pem"
        path.write_text(key.read_text() + certificate.read_text())
        settings = TlsSettings(keystore_location=str(path))
        trusting = TlsSettings(truststore_location=str(certificate))
        server = server_context(settings, read_material(settings))
        _shake(server, client_context(trusting, read_material(trusting)))
