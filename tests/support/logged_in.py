"""A broker whose clients log in, and what they need for it."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any

from tests.broker.wire import Wire
from tests.support.broker_process import BrokerProcess

from holdfast.protocol.api import Key
from holdfast.security.logins.plain import encode_plain
from holdfast.security.logins.scram import ScramClient, salt_password
from holdfast.security.secret import Secret
from holdfast.testing.certificates import AuthorityFolder
from holdfast.testing.ports import free_port

USER, PASSWORD = "alice", 'pa"ss, word=1'  # Of the settings.
KEPT, KEPT_PASSWORD = "bob", "s3cret"  # Of the store.
ODD = "bob=b,c"  # The same, with a name that SCRAM has to write otherwise. Not all clients do.
SCRAM = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class LoggedIn:
    """A broker with a plain port, one with SASL, and one with SASL and TLS."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self.folder = folder
        self.authority = AuthorityFolder(folder / "ca")
        keystore = self.authority.signed("broker", "CN=localhost,O=Tests")
        self.plain, self.sasl, self.tls = free_port(), free_port(), free_port()
        file = folder / "server.properties"
        escaped = PASSWORD.replace('"', '\\\\"')  # Once for JAAS, and once for the file.
        file.write_text(
            f"listeners=PLAINTEXT://127.0.0.1:{self.plain},INSIDE://127.0.0.1:{self.sasl},"
            f"SASL_SSL://127.0.0.1:{self.tls}\n"
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INSIDE:SASL_PLAINTEXT,SASL_SSL:SASL_SSL\n"
            f"ssl.keystore.location={keystore}\n"
            "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512\n"
            f'listener.name.inside.plain.sasl.jaas.config={_PLAIN} required user_{USER}="{escaped}";\n'
            f'sasl.jaas.config={_PLAIN} required user_{USER}="{escaped}";\n'
        )
        given = ["group.initial.rebalance.delay.ms=0", *settings]
        self.process = BrokerProcess(
            folder / "data", port=self.plain, settings=given, options=["--config", str(file)], sets_listeners=True
        )

    def keep(self, user: str = KEPT, password: str = KEPT_PASSWORD) -> None:
        """Make a user for both mechanisms of SCRAM."""
        with Wire(self.plain) as wire:
            answer = wire.ask(Key.ALTER_USER_SCRAM_CREDENTIALS, 0, upsertions=upsertions(user, password))
        assert [each.error_code for each in answer.results] == [0]

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority.certificate))


def upsertions(user: str, password: str, *mechanisms: int) -> list[dict[str, Any]]:
    """What Kafka's tools send."""
    made = []
    for number in mechanisms or (1, 2):
        salt = os.urandom(20)
        salted = salt_password(list(SCRAM.values())[number - 1], Secret(password), salt, 4096)
        made.append({"name": user, "mechanism": number, "iterations": 4096, "salt": salt, "salted_password": salted})
    return made


def shake_hands(wire: Wire, mechanism: str, version: int = 1) -> int:
    return int(wire.ask(Key.SASL_HANDSHAKE, version, mechanism=mechanism).error_code)


def log_in(wire: Wire, user: str = USER, password: str = PASSWORD, mechanism: str = "PLAIN", version: int = 2) -> Any:
    """The last answer to a whole login."""
    assert shake_hands(wire, mechanism) == 0

    def send(token: bytes) -> Any:
        return wire.ask(Key.SASL_AUTHENTICATE, version, auth_bytes=token)

    if mechanism == "PLAIN":
        return send(encode_plain(user, Secret(password)))
    client = ScramClient(mechanism, user, Secret(password), os.urandom(12).hex())
    first = send(client.first())
    if first.error_code:
        return first
    message, expected = client.final(bytes(first.auth_bytes))
    last = send(message)
    if not last.error_code:
        client.check(expected, bytes(last.auth_bytes))
    return last
