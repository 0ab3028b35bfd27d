"""A broker that can be reached in every way that Kafka's clients know, and the words that each way needs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from tests.support.broker_process import BrokerProcess

from holdfast.client import LATEST, Client, ClientSettings
from holdfast.record.batch import split
from holdfast.record.build import build
from holdfast.record.records import Record, read_records
from holdfast.security.logins.scram import MECHANISMS
from holdfast.security.secret import Secret
from holdfast.testing.certificates import AuthorityFolder
from holdfast.testing.ports import free_port

USER = "alice"
MARK = "zx9NeverShown7"  # What to look for where no secret may be.
PASSWORD = MARK + ' "=\\,;'
KEY_PASSWORD = MARK + "key"
MODULE = "org.apache.kafka.common.security."
MODULES = {
    "PLAIN": MODULE + "plain.PlainLoginModule",
    "SCRAM-SHA-256": MODULE + "scram.ScramLoginModule",
    "SCRAM-SHA-512": MODULE + "scram.ScramLoginModule",
    "OAUTHBEARER": MODULE + "oauthbearer.OAuthBearerLoginModule",
}
WAYS = [
    "PLAINTEXT",
    "SSL",
    "SSL certificate",
    *(f"{protocol} {mechanism}" for protocol in ("SASL_PLAINTEXT", "SASL_SSL") for mechanism in MODULES),
]
LARGE = [b"%d" % number * 100_000 for number in range(9)]  # Over many TLS records.
KEY = ec.generate_private_key(ec.SECP256R1())


class EveryWay:
    """Such a broker: five listeners, one user, a client certificate with a password, and an issuer of tokens."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self.folder = folder
        self.authority = AuthorityFolder(folder / "ca")
        self.keystore = self.authority.signed("broker", "CN=localhost,O=Tests")
        self.certificate = self.authority.signed("client", "CN=Reader,O=Tests", KEY_PASSWORD)
        self.token = folder / "token"
        self.give_token()
        keys = folder / "keys.json"
        write_keys(keys)
        names = {"PLAINTEXT": "PLAINTEXT", "SSL": "SSL", "MUTUAL": "SSL"}
        names |= {each: each for each in ("SASL_PLAINTEXT", "SASL_SSL")}
        self.ports = {name: free_port() for name in names}
        file = folder / "server.properties"
        write_properties(
            file,
            {
                "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()),
                "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in names.items()),
                "ssl.keystore.location": str(self.keystore),
                "listener.name.mutual.ssl.truststore.location": str(self.authority.certificate),
                "listener.name.mutual.ssl.client.auth": "required",
                "sasl.enabled.mechanisms": ",".join(MODULES),
                "sasl.oauthbearer.jwks.endpoint.url": f"file://{keys}",
            },
        )
        given = ["group.initial.rebalance.delay.ms=0", *settings]
        self.process = BrokerProcess(
            folder / "data",
            port=self.ports["PLAINTEXT"],
            settings=given,
            options=["--config", str(file)],
            sets_listeners=True,
        )

    @contextmanager
    def running(self) -> Iterator[EveryWay]:
        with self.process:
            self.keep(USER, PASSWORD)
            yield self

    def keep(self, user: str, password: str) -> None:
        """Make a user, or give one another password."""
        with Client(self.process.address) as client:
            for mechanism in MECHANISMS:
                client.set_user(user, mechanism, Secret(password))

    def give_token(self, lasts_s: float = 3600) -> None:
        self.token.write_text(new_token(lasts_s) + "\n")

    def secrets(self) -> tuple[str, ...]:
        """What must be found nowhere."""
        return MARK, self.token.read_text().strip().rpartition(".")[2]

    def port(self, way: str) -> int:
        return self.ports["MUTUAL" if way == "SSL certificate" else way.split()[0]]

    def words(self, way: str, password: str = PASSWORD, host: str = "localhost", user: str = USER) -> dict[str, str]:
        """What a client needs to be told."""
        protocol, _, how = way.partition(" ")
        words = {"bootstrap.servers": f"{host}:{self.port(way)}", "security.protocol": protocol}
        if "SSL" in protocol:
            words |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority.certificate)}
        if how == "certificate":
            words |= {"ssl.keystore.location": str(self.certificate), "ssl.key.password": KEY_PASSWORD}
        elif how == "OAUTHBEARER":
            words |= {"sasl.mechanism": how, "sasl.jaas.config": f"{MODULES[how]} required;"}
            words |= {"sasl.oauthbearer.token.endpoint.url": f"file://{self.token}"}
        elif how:
            words |= {"sasl.mechanism": how, "sasl.jaas.config": jaas(how, user, password)}
        return words

    def client(self, way: str, **changes: Any) -> Client:
        return client_of(self.words(way, **changes))

    def file(self, way: str, name: str = "client.properties", **changes: Any) -> Path:
        """The same as a file for --command-config."""
        path = self.folder / name
        write_properties(path, self.words(way, **changes))
        return path


def new_token(lasts_s: float, user: str = USER) -> str:
    now = time.time()
    claims = {"sub": user, "iat": now - 1, "exp": now + lasts_s, "jti": MARK}
    return jwt.encode(claims, KEY, "ES256", {"kid": "one"})


def write_keys(path: Path) -> None:
    """What an issuer publishes."""
    path.write_text(json.dumps({"keys": [{**json.loads(ECAlgorithm.to_jwk(KEY.public_key())), "kid": "one"}]}))


def jaas(mechanism: str, user: str, password: str) -> str:
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    return f'{MODULES[mechanism]} required username="{user}" password="{escaped}";'


def write_properties(path: Path, words: Mapping[str, str]) -> None:
    lines = (f"{name}={value}".replace("\\", "\\\\").replace("\n", "\\n") for name, value in words.items())
    path.write_text("".join(f"{line}\n" for line in lines))


def client_of(words: Mapping[str, str], **options: Any) -> Client:
    return Client(ClientSettings.parse(words), **options)


def round_trip(client: Client, topic: str) -> None:
    """What most of our tools do, in small."""
    client.create_topics({topic: 2})
    client.produce(
        {(topic, 0): build([Record(b"k", each, 1) for each in LARGE]), (topic, 1): build([Record(b"", b"s", 1)])}
    )
    assert client.list_offsets({(topic, 0): LATEST})[topic, 0].offset == len(LARGE)
    found = client.fetch({(topic, 0): 0})[topic, 0]
    assert [each.value for _, batch in split(found.records) for each in read_records(batch)] == LARGE
    client.commit_offsets(topic, {(topic, 1): (1, "")})
    assert client.fetch_offsets(topic)[topic, 1].offset == 1


def stays_open(client: Client, seconds: float) -> bool:
    """Whether it goes on for so long with the connections it has."""
    until = time.monotonic() + seconds
    client.metadata([])
    before = dict(client._nodes._open)
    while time.monotonic() < until:
        client.metadata([])
        time.sleep(0.02)
    return client._nodes._open == before
