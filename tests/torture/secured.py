"""A protected listener in a run: a user who logs in over TLS, with rights that come and go, and files that break."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka.admin import ACLResourcePatternType as PatternType
from kafka.errors import KafkaError, NoError
from tests.torture.asking import until_done

from holdfast.testing.certificates import AuthorityFolder

USER = "ann"
MECHANISM = "SCRAM-SHA-512"
TOPIC = "one"  # What the user writes to.
_REAUTH_MS = 3000  # A session ends after so long: whoever has an old password is out by then.


class SecuredListener:
    """What is needed to reach it, and what can be done to it. Without one, nothing happens."""

    def __init__(self, folder: Path) -> None:
        self._authority = AuthorityFolder(folder)
        self._numbers = itertools.count(1)
        self._keystore = folder / "keystore.pem"
        self._sound = b""
        self.trust = self._authority.certificate
        self.password = "first one"
        self.address = ""  # Where clients find it.
        self._lock = threading.Lock()
        self.renew()

    def settings(self, plain: int, secured: int, told_plain: str, told_secured: str) -> list[str]:
        """Of the broker. Whoever comes without TLS may everything, as all other clients of the run."""
        self.address = told_secured
        return [
            f"listeners=PLAINTEXT://127.0.0.1:{plain},SASL_SSL://127.0.0.1:{secured}",
            f"advertised.listeners=PLAINTEXT://{told_plain},SASL_SSL://{told_secured}",
            f"ssl.keystore.location={self._keystore}",
            f"sasl.enabled.mechanisms={MECHANISM}",
            f"connections.max.reauth.ms={_REAUTH_MS}",
            "authorizer.class.name=standard",
            "super.users=User:ANONYMOUS",
        ]

    def client(self) -> dict[str, Any]:
        """Of confluent-kafka, with the password of now."""
        return {
            "bootstrap.servers": self.address,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.trust),
            "sasl.mechanism": MECHANISM,
            "sasl.username": USER,
            "sasl.password": self.password,
        }

    # Its files

    def renew(self) -> None:
        """Another key and certificate, by the same authority."""
        made = self._authority.signed(f"broker-{next(self._numbers)}").read_bytes()
        with self._lock:
            self._sound = made
            self._keystore.write_bytes(made)

    def break_files(self) -> None:
        with self._lock:
            self._keystore.write_bytes(self._sound[: len(self._sound) // 2])

    def quiet(self) -> None:
        """What is broken is whole again."""
        with self._lock:
            if self._keystore.read_bytes() != self._sound:
                self._keystore.write_bytes(self._sound)

    # Its user

    def admit(self, bootstrap: str) -> None:
        """The user is there, with the password of now, and may write."""
        until_done(bootstrap, lambda admin: _set_password(admin, self.password))
        until_done(bootstrap, lambda admin: _add_rule(admin, ACLPermissionType.ALLOW))

    def change_password(self, bootstrap: str) -> None:
        new = f"number {next(self._numbers)}"
        if until_done(bootstrap, lambda admin: _set_password(admin, new)):
            self.password = new

    def deny(self, bootstrap: str) -> None:
        until_done(bootstrap, lambda admin: _add_rule(admin, ACLPermissionType.DENY))

    def allow(self, bootstrap: str) -> None:
        until_done(bootstrap, _take_denial_away)


# A refusal is no error to this client: it says in its answer who was refused.


def _set_password(admin: KafkaAdminClient, password: str) -> None:
    new = UserScramCredentialUpsertion(USER, ScramMechanism.SCRAM_SHA_512, password)
    _check(admin.alter_user_scram_credentials([new])[USER])


def _add_rule(admin: KafkaAdminClient, permission: ACLPermissionType) -> None:
    rule = ACL(f"User:{USER}", "*", ACLOperation.WRITE, permission, ResourcePattern(ResourceType.TOPIC, TOPIC))
    _check(admin.create_acls([rule])["failed"])


def _take_denial_away(admin: KafkaAdminClient) -> None:
    pattern = ResourcePatternFilter(ResourceType.TOPIC, TOPIC, PatternType.LITERAL)
    rule = ACLFilter(f"User:{USER}", "*", ACLOperation.WRITE, ACLPermissionType.DENY, pattern)
    [(_, _, failure)] = admin.delete_acls([rule])
    _check(failure is not NoError and failure)


def _check(failure: object) -> None:
    if failure:
        raise KafkaError(failure)
