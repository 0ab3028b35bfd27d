"""Listeners with TLS, as real clients meet them."""

from __future__ import annotations

import asyncio
import datetime
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.broker.wire import Closed, Wire
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.round_trips import by_aiokafka, by_confluent, by_kafka_python, serves
from tests.support.secured import Secured

from holdfast.protocol.api import Key
from holdfast.testing.certificates import AuthorityFolder
from holdfast.testing.ports import free_port

VALUES = [b"%d" % number * 200_000 for number in range(4)]  # Each of many records of TLS.


_PAST = datetime.datetime(2021, 1, 1, tzinfo=datetime.UTC)

Client: TypeAlias = Callable[[Secured, str], list[bytes]]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    made = Secured(tmp_path_factory.mktemp("tls"))
    with made.process:
        yield made


def _by_confluent(secured: Secured, topic: str) -> list[bytes]:
    conf = {
        "bootstrap.servers": f"localhost:{secured.tls}",
        "security.protocol": "SSL",
        "ssl.ca.location": str(secured.authority.certificate),
    }
    return by_confluent(topic, VALUES, conf, {"message.max.bytes": 8_000_000})


def _in_python(secured: Secured) -> dict[str, Any]:
    """What kafka-python and aiokafka call alike."""
    return {"bootstrap_servers": f"localhost:{secured.tls}", "security_protocol": "SSL"}


def _by_kafka_python(secured: Secured, topic: str) -> list[bytes]:
    conf = {**_in_python(secured), "ssl_cafile": str(secured.authority.certificate)}
    return by_kafka_python(topic, VALUES, conf, {"max_request_size": 8_000_000})


def _by_aiokafka(secured: Secured, topic: str) -> list[bytes]:
    conf = {**_in_python(secured), "ssl_context": secured.context()}
    return asyncio.run(by_aiokafka(topic, VALUES, conf, {"max_request_size": 8_000_000}))


@pytest.mark.parametrize("client", [_by_confluent, _by_kafka_python, _by_aiokafka], ids=lambda each: each.__name__)
def test_clients_produce_and_consume(
    secured: Secured, topic: str, client: Callable[[Secured, str], list[bytes]]
) -> None:
    """X2: small requests, and records that are many TLS records long, in both directions."""
    assert client(secured, topic) == VALUES


@pytest.mark.parametrize(
    ("version", "is_taken"), [("-tls1_3", True), ("-tls1_2", True), ("-tls1_1", False), ("-tls1", False)]
)
def test_only_newer_versions_are_spoken(secured: Secured, version: str, is_taken: bool) -> None:
    """X2: TLS 1.2 and 1.3, nothing older; openssl is made to try."""
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{secured.tls}", version, "-cipher", "ALL:@SECLEVEL=0"]
    command += ["-CAfile", str(secured.authority.certificate), "-verify_return_error"]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=60, check=False)
    assert (done.returncode == 0) is is_taken, done.stderr.decode()


def test_a_client_must_show_its_certificate_where_it_is_required(secured: Secured) -> None:
    """X2: without one, with one of another authority, or with one that no rule gives a name, it is not served.
    The test of X2."""
    stranger = AuthorityFolder(secured.folder / "other").signed("stranger", "CN=Reader,OU=Services")
    nobody = secured.authority.signed("nobody", "CN=Reader,O=Tests")
    with secured.wire(secured.mutual, secured.context(certificate=secured.client)) as wire:
        assert serves(wire)
    for shown in (None, stranger, nobody):
        with (
            pytest.raises((Closed, ssl.SSLError)),
            secured.wire(secured.mutual, secured.context(certificate=shown)) as wire,
        ):
            serves(wire)


def test_a_port_speaks_one_language(secured: Secured) -> None:
    """X2: what is plain is closed where TLS is spoken, and the other way round; nobody is served by mistake."""
    with pytest.raises(Closed), Wire(secured.tls) as wire:
        serves(wire)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        secured.connect(secured.plain)
    with secured.wire(secured.tls) as wire:
        assert serves(wire)


def test_a_client_of_another_protocol_is_named(secured: Secured) -> None:
    """X2: in one sentence of the log, with what to do, whichever of the two was wrong; and whose certificate is."""
    with pytest.raises(Closed), Wire(secured.tls) as wire:
        serves(wire)
    _until(lambda: any("its security.protocol has to be SSL or SASL_SSL" in line for line in secured.process.said))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        secured.connect(secured.plain)
    _until(lambda: any("that is TLS, and there is none here" in line for line in secured.process.said))
    with socket.create_connection(("127.0.0.1", secured.plain), 20) as browser:
        browser.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert browser.recv(1) == b""
    _until(lambda: any("that is HTTP" in line for line in secured.process.said))
    over = secured.folder / "over.pem"
    over.write_text(secured.authority.authority.issue("Reader", until=_PAST).pem())
    with pytest.raises((Closed, ssl.SSLError)), secured.wire(secured.mutual, secured.context(certificate=over)) as wire:
        serves(wire)
    words = "the client's certificate is not taken: certificate has expired"
    _until(lambda: any(words in line for line in secured.process.said))


def test_requests_come_in_pieces(secured: Secured) -> None:
    """X2: a byte in each TLS record, and several requests in one."""
    with secured.wire(secured.tls) as wire:
        frame = bytes.fromhex("0000000a001200000000000100000000")[:14]
        for number in range(len(frame)):
            wire.send_bytes(frame[number : number + 1])
        assert wire.receive()
        wire.send_bytes(frame * 50)
        assert len({wire.receive() for _ in range(50)}) == 1


def test_certificates_are_renewed_under_open_connections(tmp_path: Path) -> None:
    """X3: new handshakes get the new one, open connections stay; a broken file keeps the one before and says so.
    The test of X3."""
    secured = Secured(tmp_path)
    other = AuthorityFolder(tmp_path / "new", "Another")
    renewed = other.signed("broker", "CN=localhost")
    first, second = secured.context(), ssl.create_default_context(cafile=str(other.certificate))
    with secured.process, secured.wire(secured.tls) as old:
        assert serves(old)
        _replace(secured.keystore, renewed.read_bytes())
        _until(lambda: _is_trusted(secured, second))
        assert not _is_trusted(secured, first)
        _replace(secured.keystore, renewed.read_bytes()[:-300])
        _until(lambda: any("keeps its certificates" in line for line in secured.process.said))
        assert _is_trusted(secured, second)
        assert serves(old)
        _replace(secured.keystore, b"")
        time.sleep(1.5)  # Longer than it takes to look.
        assert _is_trusted(secured, second)


def _replace(path: Path, data: bytes) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(data)
    new.rename(path)


def _is_trusted(secured: Secured, context: ssl.SSLContext) -> bool:
    try:
        with secured.wire(secured.tls, context) as wire:
            return serves(wire)
    except ssl.SSLError:
        return False


def _until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ([], "needs a certificate and its key"),
        (["ssl.keystore.location=/no/such/file"], "cannot be read"),
        (["ssl.keystore.type=JKS", "ssl.keystore.location=a.jks"], "keytool -importkeystore"),
        (["ssl.keystore.password=x"], "ssl.key.password"),
        (["ssl.enabled.protocols=TLSv1.1"], "'TLSv1.1' is not supported"),
        (["listener.name.other.ssl.client.auth=none"], "a listener that is not in listeners"),
        (["listener.name.ssl.num.partitions=1"], "a listener has no num.partitions of its own"),
        (["ssl.principal.mapping.rules=RULE:^CN=(.*)$"], "is no rule"),
        (["inter.broker.listener.name=SSL", "process.roles=broker"], "there is one broker"),
        (["ssl.keystore.locaton=x"], "did you mean ssl.keystore.location?"),
    ],
)
def test_what_cannot_be_is_refused_at_the_start(tmp_path: Path, settings: list[str], why: str) -> None:
    """X2: with a sentence that says what to write instead."""
    file = tmp_path / "server.properties"
    file.write_text("\n".join([f"listeners=SSL://127.0.0.1:{free_port()}", *settings]))
    command = [COMMAND, "serve", "--data", str(tmp_path / "data"), "--config", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, why in ended.stderr) == (1, True), ended.stderr


def test_a_password_is_found_where_the_file_says(tmp_path: Path) -> None:
    """X2: an encrypted key, its password in another file; no line and no config shows it."""
    authority, port = AuthorityFolder(tmp_path / "ca"), free_port()
    keystore = authority.signed("broker", "CN=localhost", password="open sesame")
    (tmp_path / "secrets.properties").write_text("key=open sesame\n")
    file = tmp_path / "server.properties"
    file.write_text(
        f"listeners=SSL://127.0.0.1:{port}\nssl.keystore.location={keystore}\n"
        f"ssl.key.password=${{file:{tmp_path}/secrets.properties:key}}\n"
    )
    context = ssl.create_default_context(cafile=str(authority.certificate))
    options = ["--config", str(file), "--log-level", "debug"]
    with BrokerProcess(tmp_path / "data", port=port, options=options, sets_listeners=True) as broker:
        link = context.wrap_socket(socket.create_connection(("127.0.0.1", port), 20), server_hostname="localhost")
        with Wire(port, link=link) as wire:
            wanted = {"resource_type": 4, "resource_name": "0", "configuration_keys": None}
            [found] = wire.ask(Key.DESCRIBE_CONFIGS, 4, resources=[wanted]).results
        shown = {each.name: (each.value, each.is_sensitive) for each in found.configs}
        assert shown["ssl.key.password"] == (None, True)
        assert not any("sesame" in text for text in [*broker.said, str(found)])
    shutil.rmtree(tmp_path / "ca")
