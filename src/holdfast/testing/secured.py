"""A broker with TLS, users and rights, for tests of whoever has to log in.

with secured_broker({"alice": ["WRITE topic:orders"], "bob": ["READ topic:orders", "READ group:billing"]}) as broker:
    producer = Producer(broker.conf("alice"))
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import Rejected
from holdfast.testing.folders import temporary_folder
from holdfast.testing.ports import free_port
from holdfast.testing.process import RunningBroker
from holdfast.testing.running import checked, keywords_checked, variables

if TYPE_CHECKING:
    from holdfast.client import ClientSettings
    from holdfast.cluster.version_log import Step
    from holdfast.testing.certificates import AuthorityFolder

ADMIN: Final = "admin"  # May everything.
MECHANISM: Final = "SCRAM-SHA-512"
_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_WORDS = 'write it as "READ topic:orders", "DENY WRITE topic:logs-*" or "DESCRIBE cluster"'


class SecuredBroker(RunningBroker):
    """A broker whose only listener is SASL_SSL, and what its users need to come through it."""

    def __init__(
        self, data: Path, authority: AuthorityFolder, port: int, environment: Mapping[str, str], users: Sequence[str]
    ) -> None:
        super().__init__(data, port=port, environment=environment, sets_listeners=True, forks=True)
        self.authority = authority
        self.users = tuple(users)

    @staticmethod
    def password(user: str) -> str:
        """Of one that it was made with."""
        return f"password of {user}"

    def _known(self, user: str) -> str:
        if user not in self.users:
            raise Rejected(f"there is no user {user!r}: this broker was made with {', '.join(self.users)}")
        return user

    @property
    def ca_file(self) -> Path:
        """What clients trust."""
        return self.authority.certificate

    def ssl_context(self) -> ssl.SSLContext:
        """For clients that take one, such as aiokafka and kafka-python."""
        return ssl.create_default_context(cafile=str(self.ca_file))

    def conf(self, user: str) -> dict[str, Any]:
        """In the words of librdkafka: confluent-kafka, and all that is made of it. Raises Rejected."""
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.ca_file),
            "sasl.mechanism": MECHANISM,
            "sasl.username": self._known(user),
            "sasl.password": self.password(user),
        }

    def client_settings(self) -> ClientSettings:
        from holdfast.client import ClientSettings

        return ClientSettings.parse(self.properties(ADMIN))

    def properties(self, user: str) -> dict[str, str]:
        """In the words of Kafka's own clients, and of `--command-config`. Raises Rejected."""
        return {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca_file),
            "sasl.mechanism": MECHANISM,
            "sasl.jaas.config": f'{_MODULE} required username="{self._known(user)}" password="{self.password(user)}";',
        }


@contextmanager
def secured_broker(
    users: Mapping[str, Sequence[str]], data: Path | None = None, *, port: int = 0, **settings: object
) -> Iterator[SecuredBroker]:
    """A broker with these users, and what each may do; besides there is `admin`, who may everything.

    A right is `OPERATION kind:name`, a name that ends with `*` is a prefix. All else is as with `running_broker`.
    """
    from holdfast.testing.certificates import AuthorityFolder

    rights = {name: [parse_right(name, each) for each in allowed] for name, allowed in users.items()}
    with temporary_folder() as folder:
        place = data or folder / "data"
        authority = AuthorityFolder(folder / "certificates")
        port = port or free_port()
        secured = {
            "listeners": f"SASL_SSL://127.0.0.1:{port}",
            "ssl_keystore_location": authority.signed("broker"),
            "sasl_enabled_mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "authorizer_class_name": "standard",
            "super_users": f"User:{ADMIN}",
        }
        given = checked({**secured, **settings})
        everybody = {ADMIN: [], **rights}
        _write(place, everybody)
        broker = SecuredBroker(place, authority, port, variables(given), list(everybody))
        with keywords_checked(given):
            broker.start()
        with closing(broker):
            yield broker


def parse_right(user: str, text: str) -> Step:
    """A rule as a step of users and rules. Raises Rejected."""
    from holdfast.cluster.auth import add_rule
    from holdfast.security.principal import Principal
    from holdfast.security.rules import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType, Rule

    *denies, operation, thing = text.split() if " " in text else ("", text)
    kind, _, name = thing.partition(":")
    try:
        found, what = Operation[operation.upper()], ResourceType[kind.upper()]
    except KeyError:
        raise Rejected(f"{text!r} is no right: {_WORDS}") from None
    if denies not in ([], ["DENY"]) or bool(name) == (what is ResourceType.CLUSTER):
        raise Rejected(f"{text!r} is no right: {_WORDS}")
    is_prefix = len(name) > 1 and name.endswith("*")
    return add_rule(
        Rule(
            what,
            name.removesuffix("*") if is_prefix else name or CLUSTER_NAME,
            PatternType.PREFIXED if is_prefix else PatternType.LITERAL,
            Principal(user),
            "*",
            found,
            Permission.DENY if denies else Permission.ALLOW,
        )
    )


def _write(data: Path, rights: Mapping[str, Sequence[Step]]) -> None:
    """Into the store, before the broker's first start."""
    from holdfast.cluster.auth import set_user
    from holdfast.cluster.auth_log import AuthLog
    from holdfast.cluster.identity import claim_store
    from holdfast.io.calls import ThreadCalls
    from holdfast.io.chance import SystemChance
    from holdfast.io.clock import SystemClock
    from holdfast.io.objects.open import open_objects
    from holdfast.io.versions import VersionRetries
    from holdfast.security.logins.scram import MECHANISMS, SALT_SIZE, make_verifier
    from holdfast.security.secret import Secret

    chance, objects = SystemChance(), open_objects(str(data / "objects"))
    patience = VersionRetries(SystemClock(), chance, ThreadCalls().block)
    log = AuthLog(objects, claim_store(objects, f"{chance.bits(128):032x}"), f"{chance.bits(128):032x}", patience)
    steps: list[Step] = []
    for name, rules in rights.items():
        for mechanism in MECHANISMS:
            salt = chance.bits(8 * SALT_SIZE).to_bytes(SALT_SIZE, "big")
            steps.append(set_user(name, make_verifier(mechanism, Secret(SecuredBroker.password(name)), salt)))
        steps += rules
    log.commit(*steps)
