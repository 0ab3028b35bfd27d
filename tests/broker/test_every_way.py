"""Clients and tools of others through every kind of listener: kcat with an old librdkafka, franz-go, openssl."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.test_other_languages import COMMITTED, TOOLS, needs
from tests.support.every_way import KEY_PASSWORD, PASSWORD, USER, WAYS, EveryWay

TIMEOUT_S = 60
KCAT_WAYS = [way for way in WAYS if "OAUTHBEARER" not in way]  # Its librdkafka makes tokens of its own only.
GO_WAYS = [way for way in KCAT_WAYS if way != "SSL certificate"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EveryWay]:
    with EveryWay(tmp_path_factory.mktemp("ways"), "num.partitions=2").running() as place:
        yield place


def topic_of(way: str, client: str) -> str:
    return f"{client}-{way.replace(' ', '-')}"


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed: see .ci/install-kcat")
@pytest.mark.parametrize("way", KCAT_WAYS)
def test_kcat(place: EveryWay, way: str) -> None:
    """X2, X4: librdkafka 2.0, whose SCRAM sends its own nonce twice, as all did before 2.6."""
    protocol, _, how = way.partition(" ")
    settings = [f"security.protocol={protocol}", f"ssl.ca.location={place.authority.certificate}"]
    if how == "certificate":
        settings += [f"ssl.key.location={place.certificate}", f"ssl.certificate.location={place.certificate}"]
        settings += [f"ssl.key.password={KEY_PASSWORD}"]
    elif how:
        settings += [f"sasl.mechanism={how}", f"sasl.username={USER}", f"sasl.password={PASSWORD}"]
    command = ["kcat", "-b", f"localhost:{place.port(way)}", *(part for each in settings for part in ("-X", each))]
    topic = topic_of(way, "kcat")

    def kcat(*more: str, said: str = "") -> str:
        done = subprocess.run([*command, *more], input=said, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    kcat("-P", "-t", topic, "-p", "0", said="one\ntwo\n")
    assert kcat("-C", "-t", topic, "-p", "0", "-e", "-q") == "one\ntwo\n"


@pytest.mark.parametrize("way", GO_WAYS)
def test_franz_go(place: EveryWay, way: str) -> None:
    """X2, X4: records, transactions and a group."""
    program = TOOLS / "go" / "franz"
    needs(program, "go", install="install-go-clients")
    protocol, _, how = way.partition(" ")
    told = {"MECHANISM": how, "LOGIN": USER, "PASSWORD": PASSWORD} if how else {}
    if "SSL" in protocol:
        told["TRUST"] = str(place.authority.certificate)
    topic = topic_of(way, "franz")
    with place.client("PLAINTEXT") as client:
        client.create_topics({topic: 2})
    command = [program, f"localhost:{place.port(way)}", topic, topic]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * TIMEOUT_S, env=told)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == COMMITTED


@pytest.mark.parametrize("way", ["SSL", "SSL certificate", "SASL_SSL PLAIN"])
def test_openssl(place: EveryWay, way: str, tmp_path: Path) -> None:
    """X2: a handshake with the authority that signed, and none with another, with TLS 1.1, or without a certificate."""

    def said(trust: Path, *more: str) -> subprocess.CompletedProcess[str]:
        command = ["openssl", "s_client", "-connect", f"localhost:{place.port(way)}", "-CAfile", str(trust)]
        command += ["-verify_return_error", "-verify_hostname", "localhost", "-quiet", "-no_ign_eof", *more]
        return subprocess.run(command, input="", capture_output=True, text=True, timeout=TIMEOUT_S)

    own = ["-cert", str(place.certificate), "-key", str(place.certificate), "-pass", f"pass:{KEY_PASSWORD}"]
    given = own if way == "SSL certificate" else []
    assert said(place.authority.certificate, *given).returncode == 0
    assert said(place.keystore, *given).returncode != 0
    assert said(place.authority.certificate, "-tls1_1", *given).returncode != 0
    if given:
        assert said(place.authority.certificate, "-tls1_2").returncode != 0  # With 1.3 it would hear of it later.
